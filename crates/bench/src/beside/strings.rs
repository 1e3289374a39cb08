//! The comparisons of strings: counts, ids and maps of a text's words.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use hashbrown::HashMap;
use warpnest::strings::{StringCounts, StringMap, unique};

use super::lab::{Hasher, Lab};
use super::record::Comparison;
use super::timing::{timed, timed_with_drop};
use crate::bench::input::{Repeats, repeated};

/// Returns the text of a file. For several copies, the copy's index is appended to each word. So
/// the number of distinct words is multiplied by the number of copies.
pub fn text(path: &Path, copies: usize) -> Result<String> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{}: cannot read it as UTF-8", path.display()))?;
    if copies == 1 {
        return Ok(text);
    }
    let copy = |number: usize| text.split_whitespace().map(move |word| format!("{word}{number} "));
    Ok((0..copies).flat_map(copy).collect())
}

/// Compares the words of a made-up text, in which few words are most of the text.
pub fn made_up<S: Hasher>(lab: &Lab<'_>) -> Result<Vec<Comparison>> {
    let words: Vec<String> = repeated::<u32>(lab.n, Repeats::Zipf).0.iter().map(|key| format!("{key:x}")).collect();
    of_words::<S>(lab, &words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Compares counts, ids and maps of words.
pub fn of_words<S: Hasher>(lab: &Lab<'_>, words: &[&str]) -> Result<Vec<Comparison>> {
    let count = || {
        let mut counts = HashMap::<&str, u32, S>::default();
        words.iter().for_each(|word| *counts.entry(word).or_insert(0) += 1);
        counts
    };
    let different = count().len();
    let mut rows = Vec::new();
    let mut theirs = || Ok(timed_with_drop(count));
    let mut ours = || {
        let (time, unique) = timed(|| unique(&lab.device, words));
        let unique = unique?;
        ensure!(unique.len() == different, "{} words are different, not {different}", unique.len());
        Ok(time + timed_with_drop(|| unique))
    };
    lab.row(&mut rows, ["strings", "ids and counts of words", "HashMap entries"], &mut ours, &mut theirs)?;
    let mut ours = || {
        let mut counts = StringCounts::new(&lab.device);
        let (time, added) = timed(|| counts.add_many(words));
        ensure!(added?.len() == different, "{} words are different, not {different}", counts.len());
        Ok(time + timed_with_drop(|| counts))
    };
    let mut theirs = || Ok(timed_with_drop(count));
    lab.row(&mut rows, ["StringCounts", "count words", "HashMap entries"], &mut ours, &mut theirs)?;
    rows.extend(of_map::<S>(lab, words)?);
    Ok(rows)
}

/// Compares maps from words to numbers, which own their words.
fn of_map<S: Hasher>(lab: &Lab<'_>, words: &[&str]) -> Result<Vec<Comparison>> {
    let numbers: Vec<u32> = (0..words.len() as u32).collect();
    let build = || {
        let mut map = HashMap::<String, u32, S>::default();
        words.iter().zip(&numbers).for_each(|(word, number)| *map.entry_ref(*word).or_insert(0) = *number);
        map
    };
    let (map, reference) = (StringMap::build(&lab.device, words, &numbers)?, build());
    let mut rows = Vec::new();
    let mut ours = || {
        let (time, built) = timed(|| StringMap::build(&lab.device, words, &numbers));
        let built = built?;
        ensure!(built.len() == reference.len(), "{} words are different, not {}", built.len(), reference.len());
        Ok(time + timed_with_drop(|| built))
    };
    let mut theirs = || Ok(timed_with_drop(build));
    lab.row(&mut rows, ["StringMap", "build", "HashMap"], &mut ours, &mut theirs)?;
    let mut ours = || {
        let (time, found) = timed(|| map.get_many(words));
        ensure!(found?.iter().all(Option::is_some), "words are missing");
        Ok(time)
    };
    let mut theirs = || {
        let (time, found) = timed(|| words.iter().map(|word| reference.get(*word)).collect::<Vec<_>>());
        ensure!(found.iter().all(Option::is_some), "words are missing");
        Ok(time)
    };
    lab.row(&mut rows, ["StringMap", "look up present", "HashMap"], &mut ours, &mut theirs)?;
    Ok(rows)
}
