//! Launch bounds of kernels, for which rustc has no attribute.
//!
//! A kernel requests them by a comment that `global_asm!` writes into the PTX: `//@launch_bounds
//! KERNEL maxntid=512 minnctapersm=4`. This step converts the comment into the directives
//! `.maxntid` and `.minnctapersm` of that kernel. Naming the kernel as `sym` also makes LLVM write
//! a declaration of the kernel without a body. That declaration would lack the directives, so it is
//! removed.

use crate::error::{Error, Result};

const DIRECTIVE: &str = "//@launch_bounds ";

/// The bounds that one comment requests.
#[derive(Debug, PartialEq, Eq)]
struct Bounds<'a> {
    kernel: &'a str,
    directives: String,
}

/// Returns the PTX in which every request has been replaced by directives.
///
/// A request that cannot be applied is an error. Without its bounds the kernel would still run, but
/// with the wrong count of registers.
pub fn apply(ptx: &str) -> Result<String> {
    let (requests, rest): (Vec<&str>, Vec<&str>) =
        ptx.lines().partition(|line| line.trim_start().starts_with(DIRECTIVE));
    let mut text = rest.join("\n") + "\n";
    let mut seen = Vec::new();
    for line in requests {
        let request = line.trim();
        let refuse = |problem| Error::LaunchBounds { request: request.into(), problem };
        let bounds = parse(request).map_err(refuse)?;
        if seen.contains(&bounds.kernel) {
            return Err(refuse(format!("{} has two launch bounds", bounds.kernel)));
        }
        text = insert(&text, &bounds).map_err(refuse)?;
        seen.push(bounds.kernel);
    }
    Ok(text)
}

fn parse(line: &str) -> Result<Bounds<'_>, String> {
    let mut words = line.strip_prefix(DIRECTIVE).unwrap_or_default().split_whitespace();
    let kernel = words.next().ok_or("no kernel is named")?;
    let (mut threads, mut blocks) = (None, None);
    for word in words {
        let (key, value) = word.split_once('=').ok_or_else(|| format!("`{word}` is not key=value"))?;
        let value: u32 = value.parse().map_err(|_| format!("`{word}` is not a number"))?;
        let slot = match key {
            "maxntid" => &mut threads,
            "minnctapersm" => &mut blocks,
            _ => return Err(format!("`{key}` is neither maxntid nor minnctapersm")),
        };
        if slot.replace(value).is_some() {
            return Err(format!("{key} stands twice"));
        }
    }
    let threads = threads.ok_or("maxntid is missing")?;
    if !(1..=1024).contains(&threads) {
        return Err(format!("maxntid={threads}: a block has 1 to 1024 threads"));
    }
    let mut directives = format!(".maxntid {threads}, 1, 1\n");
    if let Some(blocks) = blocks {
        directives += &format!(".minnctapersm {blocks}\n");
    }
    Ok(Bounds { kernel, directives })
}

/// Inserts the directives between the parameter list and the body, and removes declarations that
/// have no body.
fn insert(ptx: &str, bounds: &Bounds<'_>) -> Result<String, String> {
    let name = bounds.kernel;
    let (mut out, mut rest, mut done) = (String::with_capacity(ptx.len() + 64), ptx, 0);
    while let Some((at, close)) = find_entry(rest, name) {
        let after = rest[close..].trim_start();
        let line_start = rest[..at].rfind('\n').map_or(0, |newline| newline + 1);
        match after.chars().next() {
            Some(';') => {
                out += &rest[..line_start];
                rest = after[1..].trim_start();
            }
            Some('{') => {
                out += &rest[..close];
                out += "\n";
                out += &bounds.directives;
                rest = after;
                done += 1;
            }
            _ => {
                return Err("neither a body nor a semicolon after the parameters; are there directives already?".into());
            }
        }
    }
    if done == 1 { Ok(out + rest) } else { Err(format!("the PTX has {done} kernels of the name {name}")) }
}

/// Returns the start of `.entry NAME(…)` and the end of its parameter list.
fn find_entry(ptx: &str, name: &str) -> Option<(usize, usize)> {
    ptx.match_indices(".entry ").find_map(|(at, word)| {
        let start = at + word.len();
        let rest = ptx[start..].strip_prefix(name)?.trim_start().strip_prefix('(')?;
        let inside = ptx.len() - rest.len();
        Some((at, inside + rest.find(')')? + 1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
.target sm_90
//@launch_bounds count maxntid=512 minnctapersm=4
	// .globl	count
.visible .entry count
(
	.param .u64 count_param_0
)
;

.visible .entry count2(
	.param .u64 count2_param_0
)
{
	ret;
}
.visible .entry count(
	.param .u64 count_param_0
)
{
	ret;
}
";

    #[test]
    fn the_directives_stand_before_the_body_of_the_named_kernel_only() {
        let expected = "\
.target sm_90
	// .globl	count
.visible .entry count2(
	.param .u64 count2_param_0
)
{
	ret;
}
.visible .entry count(
	.param .u64 count_param_0
)
.maxntid 512, 1, 1
.minnctapersm 4
{
	ret;
}
";
        assert_eq!(apply(PTX).unwrap(), expected);
    }

    #[test]
    fn ptx_without_requests_is_unchanged() {
        let plain = ".visible .entry k(\n)\n{\n\tret;\n}\n";
        assert_eq!(apply(plain).unwrap(), plain);
    }

    #[test]
    fn minnctapersm_may_be_left_out() {
        let one = parse("//@launch_bounds k maxntid=256").unwrap();
        assert_eq!(one, Bounds { kernel: "k", directives: ".maxntid 256, 1, 1\n".into() });
    }

    #[test]
    fn a_request_that_cannot_be_met_is_an_error() {
        let cases = [
            ("//@launch_bounds other maxntid=32", "0 kernels of the name other"),
            ("//@launch_bounds count", "maxntid is missing"),
            ("//@launch_bounds count maxntid=2048", "1 to 1024"),
            ("//@launch_bounds count maxntid=many", "not a number"),
            ("//@launch_bounds count maxregs=32", "neither"),
            ("//@launch_bounds count maxntid=32 maxntid=64", "twice"),
            ("//@launch_bounds count2 maxntid=32\n//@launch_bounds count2 maxntid=32", "two launch bounds"),
        ];
        for (request, expected) in cases {
            let ptx = PTX.replace("//@launch_bounds count maxntid=512 minnctapersm=4", request);
            let error = apply(&ptx).unwrap_err().to_string();
            assert!(error.contains(expected), "{request}: {error}");
        }
    }
}
