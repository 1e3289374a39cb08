//! Tests of all figures on the CPU engine, with tiny sizes.

use std::collections::HashSet;
use std::path::PathBuf;

use indicatif::ProgressBar;
use warpnest::{Device, TwoLevelConfig};

use super::figure::{Figure, Line};
use super::voxelization::Model;
use super::{Lab, Part, measure, parse_largest, plot, save, stages};
use crate::bench::record::Run;

fn lab() -> Lab {
    Lab { device: Device::cpu(), runs: 1, largest: 2048, progress: ProgressBar::hidden() }
}

fn run() -> Run {
    Run { date: "2026-01-02".to_owned(), commit: "abc".to_owned(), device: "A <GPU> & more".to_owned() }
}

/// Returns a new folder.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("warpnest-figures-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn every_figure_is_an_svg_with_all_series_and_has_its_numbers_in_the_file() {
    let mut model = Model::torus_knot(60, 8);
    model.name = "a <knot> & more".to_owned();
    let figures = measure(&lab(), &model, &[]).unwrap();
    let run = run();
    let folder = folder("all");
    let files = save(&folder, &figures, &run).unwrap();
    let of_kind =
        |kind: &str| files.iter().filter(|path| path.extension().is_some_and(|extension| extension == kind)).collect();
    let (svgs, pngs): (Vec<&PathBuf>, Vec<&PathBuf>) = (of_kind("svg"), of_kind("png"));
    let svgs: Vec<String> = svgs.into_iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let pngs: Vec<Vec<u8>> = pngs.into_iter().map(|path| std::fs::read(path).unwrap()).collect();
    let lines = std::fs::read_to_string(files.last().unwrap()).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();

    assert_eq!((figures.len(), svgs.len(), pngs.len(), files.len()), (20, 20, 20, 41));
    assert_eq!(pngs.iter().collect::<HashSet<_>>().len(), 20);
    for (figure, svg) in figures.iter().zip(&svgs) {
        let document = roxmltree::Document::parse(svg).unwrap();
        let texts: HashSet<&str> = document.descendants().filter_map(|node| node.text()).map(str::trim).collect();
        let axes = [figure.x.label, figure.y.label, figure.title.as_str(), figure.note.as_str()];
        let names = figure.series.iter().map(|series| series.name);
        for text in axes.into_iter().chain(names).chain(["A <GPU> & more, commit abc, 2026-01-02"]) {
            assert!(texts.contains(text), "{}: no {text:?} among {texts:?}", figure.name);
        }
        let lines_drawn = document.descendants().filter(|node| node.has_tag_name("polyline")).count();
        assert!(lines_drawn >= figure.series.len(), "{}: {lines_drawn} lines", figure.name);
    }

    let lines: Vec<Line> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let points = figures.iter().flat_map(|figure| figure.series.iter().map(|series| series.points.len()));
    assert_eq!(lines.len(), points.sum::<usize>());
    let sizes = lines.iter().filter(|line| line.figure == "sahu_kernels" && line.series == "store: shuffle");
    assert_eq!(sizes.map(|line| line.x).collect::<Vec<_>>(), [512.0, 1024.0, 2048.0]);
    assert!(lines.iter().all(|line| line.y.is_some()));
    let (cited, measured): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line.series.starts_with("Farrell 2020"));
    assert!(measured.iter().all(|line| line.device == run.device && line.commit == run.commit));
    assert_eq!(cited.len(), 31 + 2 + 2);
    assert!(cited.iter().all(|line| line.device == "NVIDIA GTX 1060" && line.date == "2020-03-06"));
}

#[test]
fn a_figure_in_pixels_has_its_title_and_its_lines() {
    let [figure, _] = stages::kernels(&lab(), &TwoLevelConfig::sahu()).unwrap();
    let pixels_of = |figure: &Figure| {
        let file = plot::png(figure, &run()).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((frame.width, frame.height, frame.color_type), (1000, 560, png::ColorType::Rgb));
        pixels
    };
    let (head, body) = (0..3 * 1000 * 36, 3 * 1000 * 84..3 * 1000 * 560);
    let all = pixels_of(&figure);
    let without_title = pixels_of(&Figure { title: String::new(), ..figure.clone() });
    assert!(without_title[head.clone()].iter().all(|&level| level == 255) && all[head].iter().any(|&level| level < 64));
    assert!(all[body.clone()] == without_title[body.clone()]);
    let mut without_lines = figure;
    without_lines.series.iter_mut().for_each(|series| series.points.truncate(1));
    assert!(pixels_of(&without_lines)[body.clone()] != all[body]);
}

#[test]
fn the_figures_of_alcantara_have_a_point_of_each_line_for_everything_that_is_varied() {
    let parts = [Part::Rates, Part::Misses, Part::Multiplicity, Part::Strides];
    let figures = measure(&lab(), &Model::torus_knot(60, 8), &parts).unwrap();
    let points =
        figures.iter().map(|figure| (figure.name, figure.series.iter().map(|series| series.points.len()).collect()));
    let expected: [(&str, Vec<usize>); 10] = [
        // The sizes are 512, 1024 and 2048 pairs.
        ("alcantara_2011_builds", vec![3; 5]),
        ("alcantara_2011_lookups", vec![3; 5]),
        ("alcantara_2011_misses", vec![11; 5]),
        ("alcantara_2011_compacting_builds", vec![11; 4]),
        ("alcantara_2011_compacting_lookups", vec![11; 3]),
        ("alcantara_2011_multi_builds", vec![11; 4]),
        ("alcantara_2011_multi_lookups", vec![11; 4]),
        // The strides go up to 2^11 words of 32 bits, and up to 2^10 words of 64 bits.
        ("alcantara_2011_strides", vec![12, 11, 12, 11]),
        ("alcantara_2011_construction", vec![18, 17, 18, 15, 7]),
        ("alcantara_2011_exchanges", vec![18, 17, 18, 15, 7]),
    ];
    assert_eq!(points.collect::<Vec<_>>(), expected);
    for figure in &figures {
        for series in &figure.series {
            assert!(series.points.is_sorted_by(|a, b| a.0 < b.0), "{}: {}", figure.name, series.name);
            assert!(series.points.iter().all(|point| point.1 > 0.0), "{}: {}", figure.name, series.name);
        }
    }
    // With few pairs the results vary by chance, but more slots still take fewer exchanges, down to
    // one per pair.
    for series in &figures[9].series {
        let (few_slots, many_slots) = (series.points[0].1, series.points.last().unwrap().1);
        assert!((1.0..1.25).contains(&many_slots) && few_slots > many_slots, "{}: {:?}", series.name, series.points);
    }
}

#[test]
fn figures_that_are_not_drawn_keep_their_numbers() {
    let figures = measure(&lab(), &Model::torus_knot(60, 8), &[Part::Filling]).unwrap();
    assert_eq!(figures.iter().map(|figure| figure.name).collect::<Vec<_>>(), ["farrell_insertions", "farrell_probes"]);
    let folder = folder("some");
    let (insertions, probes) = (&figures[..1], &figures[1..]);
    save(&folder, insertions, &Run { commit: "older".to_owned(), ..run() }).unwrap();
    save(&folder, probes, &run()).unwrap();
    save(&folder, insertions, &run()).unwrap();
    let lines = std::fs::read_to_string(folder.join("figures.jsonl")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(lines, probes[0].json_lines(&run()).unwrap() + &insertions[0].json_lines(&run()).unwrap());
}

#[test]
fn where_a_configuration_builds_no_table_its_lines_end_and_the_point_is_marked() {
    // 512 pairs fit into two buckets, but 1024 would have to fill three almost evenly.
    let config = TwoLevelConfig::sahu().bucket_capacity(342).items_per_bucket(342.0).restarts(0);
    let [his, default] = stages::kernels(&lab(), &config).unwrap();
    assert!(his.series.iter().all(|series| series.points.len() == 1 && series.points[0].0 == 512.0));
    assert!(default.end.is_none() && default.series.iter().all(|series| series.points.len() == 3));
    let end = his.end.as_ref().unwrap();
    assert_eq!((end.x, end.name.as_str()), (1024.0, "no table of 2¹⁰ pairs"));
    assert!(his.note.ends_with("2¹⁰ pairs: 1 attempts overflowed a bucket, 0 failed in one."), "{}", his.note);
    assert!(plot::svg(&his, &run()).unwrap().contains(&end.name));
    let lines = his.json_lines(&run()).unwrap();
    let last: Line = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!((last.x, last.y, last.series), (1024.0, None, end.name.clone()));
}

#[test]
fn fewer_pairs_than_the_figures_start_at_are_refused() {
    assert_eq!(parse_largest("2^9").unwrap(), 512);
    assert!(parse_largest("511").is_err() && parse_largest("2^32").is_err() && parse_largest("many").is_err());
}
