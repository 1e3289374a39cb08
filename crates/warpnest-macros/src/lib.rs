//! The part of `warpnest::module!` that checks whether the PTX files exist.

use proc_macro::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

/// Expands `stem; module` to `module` if the files of both targets exist, or if that cannot be
/// known. Otherwise expands to an error that says how to build the files.
#[doc(hidden)]
#[proc_macro]
pub fn if_built(input: TokenStream) -> TokenStream {
    let mut tokens = input.into_iter();
    let missing = tokens.next().and_then(literal).and_then(|stem| Some((first_missing(&stem)?, stem.span())));
    match missing {
        None => tokens.skip(1).collect(),
        Some((path, span)) => error(&path, span),
    }
}

/// Returns the literal in a token. `macro_rules!` wraps a literal that it passes on in a group.
fn literal(token: TokenTree) -> Option<Literal> {
    match token {
        TokenTree::Literal(literal) => Some(literal),
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => literal(group.stream().into_iter().next()?),
        _ => None,
    }
}

/// Returns the path of the first missing file, relative to the folder of the source file that
/// contains the stem. Returns `None` if both files exist or the source file is unknown, as in an
/// editor.
fn first_missing(stem: &Literal) -> Option<String> {
    let source = stem.span().local_file()?;
    let text = stem.to_string();
    let text = text.strip_prefix('"')?.strip_suffix('"').filter(|text| !text.contains('\\'))?;
    let mut paths = ["_sm75.ptx", "_sm90.ptx"].iter().map(|end| source.with_file_name("").join(format!("{text}{end}")));
    paths.find(|path| !path.is_file()).map(|path| path.display().to_string())
}

/// Returns an error that points to the literal.
fn error(path: &str, span: Span) -> TokenStream {
    let words = format!(
        "there is no {path}: run `cargo warpnest build-ptx` first, in the folder of the package with the kernels"
    );
    let message = Group::new(Delimiter::Parenthesis, TokenTree::from(Literal::string(&words)).into());
    let name = Ident::new("compile_error", span);
    let tokens = [TokenTree::from(name), Punct::new('!', Spacing::Alone).into(), message.into()];
    TokenStream::from_iter(tokens.map(|mut token| {
        token.set_span(span);
        token
    }))
}
