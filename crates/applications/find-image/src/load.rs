//! Pictures from files.

use super::corners::Grey;
use image::{DynamicImage, ImageDecoder, ImageError, ImageReader, Limits, RgbImage};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The maximum width and height of a file's picture, in pixels.
pub const MAX_SIDE: u32 = 1 << 15;
/// The maximum number of pixels of a file's picture. A small file can encode a huge picture, and
/// each pixel takes up to 31 bytes until the picture is scaled down: 2 GB in all.
pub const MAX_PIXELS: u64 = 1 << 26;
/// The maximum bytes that a decoder may take: twice 8 bytes for each of [`MAX_PIXELS`].
const MAX_BYTES: u64 = 1 << 30;
/// The maximum width and height of a searched picture, in pixels. Larger ones are scaled down.
pub const WORK_SIDE: u32 = 1024;

/// The reason why a picture cannot be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    #[error("{path}: cannot read the file; give the path of a PNG or JPEG file, or no path for made-up pictures")]
    Read { path: PathBuf, source: io::Error },
    #[error("{path}: not a PNG or JPEG file; convert the picture to one of them")]
    NotAPicture { path: PathBuf },
    #[error("{path}: the picture is damaged or cut short; fetch it again")]
    Damaged { path: PathBuf, source: ImageError },
    #[error(
        "{path}: {width} x {height} pixels; at most {limit}, and {MAX_SIDE} a side, are possible: scale the picture down"
    )]
    TooLarge { path: PathBuf, width: u32, height: u32, limit: u64 },
    #[error(
        "{path}: what the file has beside its pixels takes more than {} MiB; save the picture without colour profile and text",
        MAX_BYTES >> 20
    )]
    TooMuchBeside { path: PathBuf },
    #[error("{path}: the picture has a kind of pixels that is not supported; save it as 8-bit RGB")]
    Unsupported { path: PathBuf, source: ImageError },
    #[error(
        "{path}: only {points} interest points, and a reference needs {least}; give a picture with more detail, or a larger one"
    )]
    TooPlain { path: PathBuf, points: usize, least: usize },
}

/// A picture, in colour for drawing and in grey for searching.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    pub name: String,
    pub colour: RgbImage,
    pub grey: Grey,
}

impl Picture {
    /// Returns the picture with a name, scaled down to [`WORK_SIDE`] pixels a side if it is larger.
    pub fn new(name: String, image: DynamicImage) -> Self {
        let (width, height) = (image.width(), image.height());
        // Transparent pixels are blended with white.
        let mut rgba = image.to_rgba32f();
        for pixel in rgba.pixels_mut() {
            let alpha = pixel[3].clamp(0.0, 1.0);
            (0..3).for_each(|i| pixel[i] = pixel[i] * alpha + 1.0 - alpha);
            pixel[3] = 1.0;
        }
        let pixels = rgba.pixels().map(|pixel| 0.2126 * pixel[0] + 0.7152 * pixel[1] + 0.0722 * pixel[2]).collect();
        let mut grey = Grey { width: width as usize, height: height as usize, pixels };
        let mut colour = DynamicImage::ImageRgba32F(rgba).to_rgb8();
        let longer = width.max(height);
        if longer > WORK_SIDE {
            grey = grey.scaled(WORK_SIDE as f32 / longer as f32);
            let (width, height) = (grey.width as u32, grey.height as u32);
            colour = image::imageops::resize(&colour, width, height, image::imageops::FilterType::Triangle);
        }
        Self { name, colour, grey }
    }
}

/// Reads a picture from a PNG or JPEG file. A picture of more than [`MAX_PIXELS`] is refused as
/// soon as its header is read.
pub fn load(path: &Path) -> Result<Picture, LoadError> {
    load_within(path, MAX_PIXELS)
}

/// Reads a picture as [`load`] does, but with another limit of pixels.
fn load_within(path: &Path, limit: u64) -> Result<Picture, LoadError> {
    let path_buf = || path.to_owned();
    let unread = |source| LoadError::Read { path: path_buf(), source };
    // The format is guessed from the contents, because a file's name may be wrong.
    let file = File::open(path).map_err(unread)?;
    let mut reader = ImageReader::new(BufReader::new(file)).with_guessed_format().map_err(unread)?;
    if reader.format().is_none() {
        return Err(LoadError::NotAPicture { path: path_buf() });
    }
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_BYTES);
    reader.limits(limits);
    let undecoded = |source| match source {
        ImageError::Limits(_) => LoadError::TooMuchBeside { path: path_buf() },
        // The guess knows this format, but the program does not read it.
        ImageError::Unsupported(ref unsupported)
            if !matches!(unsupported.kind(), image::error::UnsupportedErrorKind::Color(_)) =>
        {
            LoadError::NotAPicture { path: path_buf() }
        }
        ImageError::Unsupported(_) => LoadError::Unsupported { path: path_buf(), source },
        source => LoadError::Damaged { path: path_buf(), source },
    };
    // The decoder has only read the header so far.
    let decoder = reader.into_decoder().map_err(undecoded)?;
    let (width, height) = decoder.dimensions();
    if width.max(height) > MAX_SIDE || u64::from(width) * u64::from(height) > limit {
        return Err(LoadError::TooLarge { path: path_buf(), width, height, limit });
    }
    let image = DynamicImage::from_decoder(decoder).map_err(undecoded)?;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(Picture::new(name, image))
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{ImageBuffer, ImageFormat, Luma, Rgb, Rgba};

    /// Writes bytes to a file, and returns its path.
    fn file(name: &str, bytes: &[u8]) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("warpnest-find-image-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn encoded(image: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
        let mut bytes = io::Cursor::new(Vec::new());
        image.into().write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    #[test]
    fn pictures_of_every_depth_are_read_alike() {
        let value = |x: u32, y: u32| (x * 17 + y * 5) as u8;
        let grey_8 = ImageBuffer::from_fn(9, 7, |x, y| Luma([value(x, y)]));
        let grey_16 = ImageBuffer::from_fn(9, 7, |x, y| Luma([u16::from(value(x, y)) * 257]));
        let rgb_8 = ImageBuffer::from_fn(9, 7, |x, y| Rgb([value(x, y); 3]));
        let rgb_16 = ImageBuffer::from_fn(9, 7, |x, y| Rgb([u16::from(value(x, y)) * 257; 3]));
        let rgba = ImageBuffer::from_fn(9, 7, |x, y| Rgba([value(x, y), value(x, y), value(x, y), 255]));
        let png = |name: &str, image: DynamicImage| load(&file(name, &encoded(image, ImageFormat::Png))).unwrap();
        let expected = png("grey-8.png", grey_8.into());
        assert_eq!((expected.grey.width, expected.grey.height), (9, 7));
        assert!((expected.grey.pixels[9] - 5.0 / 255.0).abs() < 1e-3);
        let others = [
            png("grey-16.png", grey_16.into()),
            png("rgb-8.png", rgb_8.into()),
            png("rgb-16.png", rgb_16.into()),
            png("rgba-8.png", rgba.into()),
        ];
        for other in others {
            let far = |(a, b): (&f32, &f32)| (a - b).abs() > 1e-3;
            assert!(!other.grey.pixels.iter().zip(&expected.grey.pixels).any(far), "{}", other.name);
            assert_eq!(other.colour, expected.colour, "{}", other.name);
        }
    }

    #[test]
    fn small_and_large_pictures_are_read() {
        let one = ImageBuffer::from_pixel(1, 1, Rgb([200u8, 10, 10]));
        let picture = load(&file("one.png", &encoded(one, ImageFormat::Png))).unwrap();
        assert_eq!((picture.grey.width, picture.grey.height), (1, 1));
        let large = ImageBuffer::from_pixel(2 * WORK_SIDE, 30, Rgb([200u8, 100, 10]));
        let picture = load(&file("large.jpg", &encoded(large, ImageFormat::Jpeg))).unwrap();
        assert_eq!((picture.grey.width, picture.grey.height), (WORK_SIDE as usize, 15));
        assert_eq!(picture.colour.dimensions(), (WORK_SIDE, 15));
    }

    #[test]
    fn what_is_no_picture_is_refused_by_name() {
        let noise = ImageBuffer::from_fn(64, 64, |x, y| Rgb([(x * y) as u8, (x * x) as u8, (y * 31) as u8]));
        let (png, jpeg) = (encoded(noise.clone(), ImageFormat::Png), encoded(noise, ImageFormat::Jpeg));
        let message = |name: &str, bytes: &[u8]| {
            let path = file(name, bytes);
            let error = load(&path).unwrap_err();
            assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
            error
        };
        for length in [20, 60, png.len() / 2] {
            let error = message("short.png", &png[..length]);
            assert!(matches!(error, LoadError::Damaged { .. }), "{length}: {error}");
        }
        let error = message("short.jpg", &jpeg[..30]);
        assert!(matches!(error, LoadError::Damaged { .. }), "{error}");
        // Half of a JPEG may be decoded all the same.
        match load(&file("half.jpg", &jpeg[..jpeg.len() / 2])) {
            Ok(picture) => assert_eq!(picture.colour.dimensions(), (64, 64)),
            Err(error) => assert!(matches!(error, LoadError::Damaged { .. }), "{error}"),
        }
        for bytes in [&b""[..], b"x", b"hello, this is a text and no picture", b"GIF89a\x01\x00\x01\x00\x00\x00\x00"] {
            assert!(matches!(message("text.png", bytes), LoadError::NotAPicture { .. }));
        }
        let missing = std::env::temp_dir().join("warpnest-no-such-file.png");
        assert!(matches!(load(&missing).unwrap_err(), LoadError::Read { .. }));
        assert!(matches!(load(&std::env::temp_dir()).unwrap_err(), LoadError::Read { .. }));
    }
    /// Returns a PNG file with one bit per pixel that ends after its header.
    fn header(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_depth(png::BitDepth::One);
        encoder.set_color(png::ColorType::Grayscale);
        let mut writer = encoder.write_header().unwrap();
        writer.write_chunk(png::chunk::IDAT, &[]).unwrap();
        drop(writer);
        bytes
    }

    #[test]
    fn pictures_of_too_many_pixels_are_refused_by_their_header() {
        for (width, height) in [(20_000, 20_000), (1 << 15, 1 << 15), (1 << 15, (1 << 11) + 1), ((1 << 15) + 1, 1)] {
            let path = file("bomb.png", &header(width, height));
            let text = load(&path).unwrap_err().to_string();
            assert!(text.starts_with(&path.display().to_string()), "{text}");
            assert!(text.contains(&format!("{width} x {height}")) && text.contains("67108864"), "{text}");
        }
        // A picture at the limit is decoded, and found to be cut short.
        for (width, height) in [(1 << 15, 1), (1, 1 << 15)] {
            let error = load(&file("row.png", &header(width, height))).unwrap_err();
            assert!(matches!(error, LoadError::Damaged { .. }), "{error}");
        }
        let image = || ImageBuffer::from_pixel(20, 30, Luma([7u8]));
        for (format, name) in [(ImageFormat::Png, "small.png"), (ImageFormat::Jpeg, "small.jpg")] {
            let path = file(name, &encoded(image(), format));
            assert_eq!(load_within(&path, 600).unwrap().colour.dimensions(), (20, 30));
            let error = load_within(&path, 599).unwrap_err();
            assert!(matches!(error, LoadError::TooLarge { width: 20, height: 30, limit: 599, .. }), "{error}");
        }
    }
}
