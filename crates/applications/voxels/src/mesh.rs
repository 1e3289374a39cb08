//! Triangle meshes, read from PLY or OBJ files, plain or gzipped.
//!
//! The whole file is read and decompressed before it is parsed. So a damaged archive and a damaged
//! mesh are different errors, which parsers of a stream would report as one.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use flate2::read::MultiGzDecoder;
use glam::DVec3;
use ply_rs_bw::{
    parser::{ParseError, Parser, Reader},
    ply::{Property, PropertyAccess, PropertyAccessResult},
};
use thiserror::Error;
use warpnest_applications_shared::{memory, size::Size};

/// The maximum bytes of a file after decompression, because a few kilobytes of gzip can expand to
/// any size. A file may also take no more than an eighth of the memory left, because its parser
/// takes several times as much.
const MAX_BYTES: u64 = 2 << 30;

/// Triangles with shared corners. Every index is in range, and every corner is finite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// The position of each corner.
    pub corners: Vec<DVec3>,
    /// Three indices into `corners` for each triangle.
    pub triangles: Vec<[u32; 3]>,
}

/// The reason why a mesh cannot be loaded, or cannot be placed in a grid.
#[derive(Debug, Error)]
pub enum MeshError {
    #[error("{path}: cannot read the file; give the path of a .ply or .obj file, or no path for built-in shapes")]
    Read { path: PathBuf, source: io::Error },
    #[error("{path}: the gzip data is damaged or cut short; unpack it with gunzip to see, or fetch it again")]
    Gzip { path: PathBuf, source: io::Error },
    #[error(
        "{path}: more than {limit} unpacked; give a smaller mesh{}",
        if limit.0 < MAX_BYTES { ", or allow more by --memory" } else { "" }
    )]
    TooLarge { path: PathBuf, limit: Size },
    #[error("{path}: not a mesh; give a PLY file (its first line is \"ply\") or an OBJ file (its name ends in .obj)")]
    NotAMesh { path: PathBuf },
    #[error("{path}: malformed {format}: {reason}; export the mesh again")]
    Malformed { path: PathBuf, format: &'static str, reason: String },
    #[error("{path}: no faces (a point cloud?); give a mesh with polygons of at least three corners")]
    NoFaces { path: PathBuf },
    #[error("{path}: a face names {what}, but the file has {corners} vertices; export the mesh again")]
    IndexOutOfRange { path: PathBuf, what: String, corners: usize },
    #[error("{path}: vertex {vertex} is not finite; remove it, or export the mesh again")]
    NotFinite { path: PathBuf, vertex: usize },
    #[error("{path}: all {corners} vertices are at one point, so the mesh has no size; export the mesh again")]
    NoExtent { path: PathBuf, corners: usize },
    #[error(
        "the meshes together are {extent:e} wide, which no grid can resolve; change their size, --scale-b or --offset-b"
    )]
    Extent { extent: f64 },
    #[error("a grid of {grid} voxels a side is out of range; give --grid a number from {least} to {most}")]
    Grid { grid: u32, least: u32, most: u32 },
}

impl Mesh {
    /// Returns the least and the greatest coordinates of all corners.
    pub fn bounds(&self) -> (DVec3, DVec3) {
        let start = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        self.corners.iter().fold(start, |(low, high), corner| (low.min(*corner), high.max(*corner)))
    }

    /// Returns the mesh with every corner moved by `place`.
    pub fn moved(mut self, place: impl Fn(DVec3) -> DVec3) -> Mesh {
        for corner in &mut self.corners {
            *corner = place(*corner);
        }
        self
    }

    /// Returns the three corners of one triangle.
    pub fn triangle(&self, index: usize) -> [DVec3; 3] {
        self.triangles[index].map(|corner| self.corners[corner as usize])
    }
}

/// Reads the mesh in the file at `path`.
pub fn load(path: &Path) -> Result<Mesh, MeshError> {
    let read = |source| MeshError::Read { path: path.into(), source };
    let limit = limit();
    let bytes = read_all(File::open(path).map_err(read)?, limit).map_err(read)?;
    parse(path, bytes.ok_or_else(|| MeshError::TooLarge { path: path.into(), limit })?)
}

/// Parses a mesh from the bytes of a file. `path` gives the format if the bytes do not, and is
/// named in errors.
pub fn parse(path: &Path, mut bytes: Vec<u8>) -> Result<Mesh, MeshError> {
    let mut name = path.to_string_lossy().to_lowercase();
    if bytes.starts_with(&[0x1f, 0x8b]) || name.ends_with(".gz") {
        let limit = limit();
        let unpacked = read_all(MultiGzDecoder::new(&bytes[..]), limit);
        bytes = unpacked
            .map_err(|source| MeshError::Gzip { path: path.into(), source })?
            .ok_or_else(|| MeshError::TooLarge { path: path.into(), limit })?;
        name.truncate(name.trim_end_matches(".gz").len());
    }
    // Only ASCII is changed, because binary data may be any bytes.
    if bytes.starts_with(b"ply\rformat ascii") {
        bytes.iter_mut().filter(|byte| **byte == b'\r').for_each(|byte| *byte = b'\n');
    }
    let mesh = if bytes.starts_with(b"ply\n") || bytes.starts_with(b"ply\r\n") || name.ends_with(".ply") {
        parse_ply(path, &bytes)?
    } else if name.ends_with(".obj") {
        parse_obj(path, &bytes)?
    } else {
        return Err(MeshError::NotAMesh { path: path.into() });
    };
    if mesh.triangles.is_empty() {
        return Err(MeshError::NoFaces { path: path.into() });
    }
    match mesh.corners.iter().position(|corner| !corner.is_finite()) {
        Some(vertex) => Err(MeshError::NotFinite { path: path.into(), vertex }),
        None => Ok(mesh),
    }
}

/// Returns all bytes of `source`, or `None` if there are more than `limit`.
fn read_all(source: impl Read, limit: Size) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let length = source.take(limit.0 + 1).read_to_end(&mut bytes)?;
    Ok((length as u64 <= limit.0).then_some(bytes))
}

/// Returns the maximum bytes that a file may have.
fn limit() -> Size {
    Size(MAX_BYTES.min(memory::left() / 8))
}

/// A vertex of a PLY file; properties other than its position are ignored.
struct Corner(DVec3);

impl PropertyAccess for Corner {
    fn new() -> Corner {
        Corner(DVec3::NAN)
    }

    fn set_property(&mut self, name: &str, property: Property) -> PropertyAccessResult {
        let Some(axis) = ["x", "y", "z"].iter().position(|axis| *axis == name) else {
            return PropertyAccessResult::Ignored;
        };
        self.0[axis] = match property {
            Property::Char(x) => x.into(),
            Property::UChar(x) => x.into(),
            Property::Short(x) => x.into(),
            Property::UShort(x) => x.into(),
            Property::Int(x) => x.into(),
            Property::UInt(x) => x.into(),
            Property::Float(x) => x.into(),
            Property::Double(x) => x,
            _ => return PropertyAccessResult::UnsupportedType,
        };
        PropertyAccessResult::Set
    }
}

/// A face of a PLY file. Indices are signed, as in some files.
struct Face(Vec<i64>);

impl PropertyAccess for Face {
    fn new() -> Face {
        Face(Vec::new())
    }

    fn set_property(&mut self, name: &str, property: Property) -> PropertyAccessResult {
        if name != "vertex_indices" && name != "vertex_index" {
            return PropertyAccessResult::Ignored;
        }
        self.0 = match property {
            Property::ListChar(list) => list.into_iter().map(i64::from).collect(),
            Property::ListUChar(list) => list.into_iter().map(i64::from).collect(),
            Property::ListShort(list) => list.into_iter().map(i64::from).collect(),
            Property::ListUShort(list) => list.into_iter().map(i64::from).collect(),
            Property::ListInt(list) => list.into_iter().map(i64::from).collect(),
            Property::ListUInt(list) => list.into_iter().map(i64::from).collect(),
            _ => return PropertyAccessResult::UnsupportedType,
        };
        PropertyAccessResult::Set
    }
}

/// Any element of a PLY file except vertices and faces.
struct Skipped;

impl PropertyAccess for Skipped {
    fn new() -> Skipped {
        Skipped
    }
}

fn parse_ply(path: &Path, bytes: &[u8]) -> Result<Mesh, MeshError> {
    let malformed = |reason: String| MeshError::Malformed { path: path.into(), format: "PLY", reason };
    // The parser's messages have several lines, and the first line gives the fault and its
    // position.
    let failed = |error: ParseError| {
        malformed(error.to_string().lines().next().unwrap_or_default().trim_end_matches('.').to_owned())
    };
    let mut reader = Reader::new(BufReader::new(bytes));
    let header = Parser::<Skipped>::new().read_header(&mut reader).map_err(failed)?;
    let (mut corners, mut faces) = (Vec::new(), Vec::new());
    for (name, element) in &header.elements {
        // An element without properties takes no bytes, so only the header would limit how often it
        // is read.
        if element.properties.is_empty() && element.count > 0 {
            return Err(malformed(format!("element {name} has no properties")));
        }
        match name.as_str() {
            "vertex" => {
                if let Some(axis) = ["x", "y", "z"].into_iter().find(|axis| !element.properties.contains_key(*axis)) {
                    return Err(malformed(format!("its vertices have no {axis}")));
                }
                corners =
                    Parser::<Corner>::new().read_payload_for_element(&mut reader, element, &header).map_err(failed)?;
            }
            "face" => {
                faces =
                    Parser::<Face>::new().read_payload_for_element(&mut reader, element, &header).map_err(failed)?;
            }
            _ => {
                Parser::<Skipped>::new().read_payload_for_element(&mut reader, element, &header).map_err(failed)?;
            }
        }
    }
    let corners: Vec<DVec3> = corners.into_iter().map(|Corner(at)| at).collect();
    let mut triangles = Vec::with_capacity(faces.len());
    for (face, Face(polygon)) in faces.iter().enumerate() {
        if let Some(index) = polygon.iter().find(|&&index| index < 0 || index >= corners.len() as i64) {
            let what = format!("vertex {index} (face {face})");
            return Err(MeshError::IndexOutOfRange { path: path.into(), what, corners: corners.len() });
        }
        // A polygon becomes a fan around its first corner; with fewer than three corners it has no
        // triangle.
        for pair in polygon.get(1..).unwrap_or_default().windows(2) {
            triangles.push([polygon[0], pair[0], pair[1]].map(|index| index as u32));
        }
    }
    Ok(Mesh { corners, triangles })
}

fn parse_obj(path: &Path, bytes: &[u8]) -> Result<Mesh, MeshError> {
    let geometry = obj_geometry(bytes);
    let corners = geometry.lines().filter(|line| line.starts_with("v ")).count();
    let options =
        tobj::LoadOptions { triangulate: true, ignore_points: true, ignore_lines: true, ..Default::default() };
    let loaded = tobj::load_obj_buf(&mut geometry.as_bytes(), &options, |_| Err(tobj::LoadError::OpenFileFailed));
    let models = match loaded {
        Ok((models, _)) => models,
        Err(tobj::LoadError::FaceVertexOutOfBounds) => {
            let what = "a vertex out of range".to_owned();
            return Err(MeshError::IndexOutOfRange { path: path.into(), what, corners });
        }
        Err(error) => {
            return Err(MeshError::Malformed { path: path.into(), format: "OBJ", reason: error.to_string() });
        }
    };
    let mut mesh = Mesh::default();
    for model in &models {
        let first = mesh.corners.len() as u32;
        let positions = model.mesh.positions.as_chunks().0.iter();
        mesh.corners.extend(positions.map(|at: &[f32; 3]| DVec3::from_array(at.map(f64::from))));
        mesh.triangles.extend(model.mesh.indices.as_chunks().0.iter().map(|at: &[u32; 3]| at.map(|i| first + i)));
    }
    Ok(mesh)
}

/// Returns only the geometry of an OBJ file: positions, and faces without texture and normal
/// indices.
///
/// So a missing material file, a comment in another encoding or a wrong texture index is no error.
fn obj_geometry(bytes: &[u8]) -> String {
    let mut kept = String::new();
    for line in bytes.split(|byte| matches!(byte, b'\n' | b'\r')) {
        let text = String::from_utf8_lossy(line);
        let mut words = text.split_whitespace();
        let Some(kind @ ("v" | "f")) = words.next() else { continue };
        kept.push_str(kind);
        let words: Vec<&str> = words.collect();
        // Four numbers are x, y, z and w; in more, a colour follows x, y and z.
        let used = if kind == "v" && words.len() > 4 { 3 } else { words.len() };
        for word in &words[..used] {
            kept.push(' ');
            kept.push_str(word.split('/').next().unwrap_or_default());
        }
        kept.push('\n');
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    const SQUARE: &str = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n\
        element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n";

    fn read(name: &str, text: &str) -> Result<Mesh, MeshError> {
        parse(Path::new(name), text.as_bytes().to_vec())
    }

    fn gzip(text: &str) -> Vec<u8> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::default());
        packer.write_all(text.as_bytes()).unwrap();
        packer.finish().unwrap()
    }

    #[test]
    fn one_square_in_every_format_is_the_same_mesh() {
        let ascii = read("a", SQUARE).unwrap();
        assert_eq!(ascii.triangles, [[0, 1, 2], [0, 2, 3]]);
        let obj =
            "# caf\u{e9}\nmtllib none.mtl\nv 0 0 0\nv 1 0 0 .5 .5 .5\nv 1 1 0\nv 0 1 0\nvt 0 0\nf 1/-9/1 2//1 3 -1\n";
        assert_eq!(read("a.OBJ", obj).unwrap(), ascii);
        for end in ["\r\n", "\r"] {
            assert_eq!(read("a.ply", &SQUARE.replace('\n', end)).unwrap(), ascii);
            assert_eq!(read("a.obj", &obj.replace('\n', end)).unwrap(), ascii);
        }
        assert_eq!(parse(Path::new("a.ply.gz"), gzip(SQUARE)).unwrap(), ascii);
        assert_eq!(parse(Path::new("a.obj.gz"), gzip(obj)).unwrap(), ascii);

        let (header, _) = SQUARE.split_once("0 0 0").unwrap();
        for order in ["little", "big"] {
            let mut binary = header.replace("ascii", &format!("binary_{order}_endian")).into_bytes();
            let ordered =
                |bytes: [u8; 4]| if order == "big" { [bytes[3], bytes[2], bytes[1], bytes[0]] } else { bytes };
            let coordinates = ascii.corners.iter().flat_map(DVec3::to_array);
            binary.extend(coordinates.flat_map(|x| ordered((x as f32).to_le_bytes())));
            binary.push(4);
            binary.extend((0..4_u32).flat_map(|index| ordered(index.to_le_bytes())));
            assert_eq!(parse(Path::new("a"), binary.clone()).unwrap(), ascii);
            binary.pop();
            assert!(matches!(parse(Path::new("a"), binary), Err(MeshError::Malformed { .. })));
        }
    }

    #[test]
    fn every_failure_names_the_file() {
        let missing = load(Path::new("no/such.ply")).unwrap_err();
        assert!(matches!(missing, MeshError::Read { .. }));
        assert!(missing.to_string().starts_with("no/such.ply: "));
        assert!(matches!(load(Path::new(".")), Err(MeshError::Read { .. })));

        let cases = [
            (read("m.txt", "hello"), "m.txt: not a mesh"),
            (read("m.ply", ""), "m.ply: malformed PLY"),
            (read("m.ply", "solid cube"), "m.ply: malformed PLY"),
            (read("m.ply", &SQUARE[..SQUARE.len() - 4]), "m.ply: malformed PLY"),
            (read("m.ply", &SQUARE.replace("float z", "float q")), "m.ply: malformed PLY: its vertices have no z"),
            (read("m.ply", &SQUARE.replace("face 1", "face 99999999999999")), "m.ply: malformed PLY"),
            (read("m.ply", &SQUARE.replace("uchar int", "uchar float")), "m.ply: malformed PLY"),
            (read("m.ply", &SQUARE.replace("4 0 1 2 3", "4 0 1 2 4")), "m.ply: a face names vertex 4 (face 0)"),
            (read("m.ply", &SQUARE.replace("4 0 1 2 3", "4 0 1 2 -1")), "m.ply: a face names vertex -1 (face 0)"),
            (read("m.ply", &SQUARE.replace("4 0 1 2 3", "2 0 1")), "m.ply: no faces"),
            (read("m.ply", &SQUARE.replace("1 1 0", "1 1e99 0")), "m.ply: vertex 2 is not finite"),
            (
                read("m.ply", "ply\nformat binary_little_endian 1.0\nelement face 9999999999999999\nend_header\n"),
                "m.ply: malformed PLY: element face has no properties",
            ),
            (read("m.obj", "v 0 0 zero\n"), "m.obj: malformed OBJ"),
            (read("m.obj", "v 0 0 0\nf\n"), "m.obj: malformed OBJ"),
            (read("m.obj", "v 0 0 0\nf 1 1 x\n"), "m.obj: malformed OBJ"),
            (read("m.obj", "v 0 0 0\nf 1 1 2\n"), "m.obj: a face names a vertex out of range"),
            (read("m.obj", "v 0 0 0\nf 1 0 1\n"), "m.obj: a face names a vertex out of range"),
            (read("m.obj", "v 0 0 1e99\nf 1 1 1\n"), "m.obj: vertex 0 is not finite"),
            (read("m.obj", "\u{1}\u{2}"), "m.obj: no faces"),
            (read("m.ply.gz", SQUARE), "m.ply.gz: the gzip data is damaged"),
        ];
        for (result, start) in cases {
            let message = result.expect_err(start).to_string();
            assert!(message.starts_with(start), "{message:?} should start with {start:?}");
            assert!(message.contains("; ") && !message.contains('\n'), "{message:?} says what to do, in one line");
        }

        let packed = gzip(SQUARE);
        for end in 2..packed.len() {
            let result = parse(Path::new("m.ply.gz"), packed[..end].to_vec());
            assert!(matches!(result, Err(MeshError::Gzip { .. })), "cut after {end} bytes: {result:?}");
        }
    }
}
