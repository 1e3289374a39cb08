//! The attribute of a test that runs on every engine and with words of every width.

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::{ToTokens, format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{AngleBracketedGenericArguments, Error, FnArg, Ident, ItemFn, Result, Token, parse_macro_input};

/// Makes a function a test that runs once for each choice of its arguments.
///
/// - An argument `device: &Device` receives the device of every engine, and `engine: &TestEngine`
///   receives every engine.
/// - Type parameters `<K: Key, V: Value>` receive words of all four widths, and `<K: Key>` receives
///   both widths of keys. With `#[parameterized(each_width)]` each width is a separate test, in a
///   module with the function's name. Other types are listed, as in
///   `#[parameterized(<Page>, <Cuckoo>)]`.
#[proc_macro_attribute]
pub fn parameterized(choices: TokenStream, function: TokenStream) -> TokenStream {
    let choices = parse_macro_input!(choices as Choices);
    let function = parse_macro_input!(function as ItemFn);
    expanded(choices, function).unwrap_or_else(Error::into_compile_error).into()
}

/// The types of a test's type parameters.
enum Choices {
    /// All widths, in one test.
    Widths,
    /// All widths, with one test for each.
    EachWidth,
    These(Vec<Tokens>),
}

impl Parse for Choices {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if input.is_empty() {
            return Ok(Self::Widths);
        }
        if input.peek(Ident) {
            let word: Ident = input.parse()?;
            return if word == "each_width" { Ok(Self::EachWidth) } else { Err(Error::new_spanned(word, "unknown")) };
        }
        let types = Punctuated::<AngleBracketedGenericArguments, Token![,]>::parse_terminated(input)?;
        Ok(Self::These(types.into_iter().map(|types| quote!(::#types)).collect()))
    }
}

fn expanded(choices: Choices, mut function: ItemFn) -> Result<Tokens> {
    let attributes = std::mem::take(&mut function.attrs);
    let name = std::mem::replace(&mut function.sig.ident, format_ident!("with"));
    let each_width = matches!(choices, Choices::EachWidth);
    let (names, types): (Vec<String>, Vec<Tokens>) = match choices {
        Choices::These(types) => types.into_iter().map(|types| (types.to_string(), types)).unzip(),
        _ => widths(&function)?.into_iter().map(|(name, types)| (name.to_owned(), types)).unzip(),
    };
    let calls = types.into_iter().map(|types| call(&function, types)).collect::<Result<Vec<_>>>()?;
    if each_width {
        let names = names.iter().map(|name| format_ident!("{name}"));
        return Ok(quote! {
            #(#attributes)*
            mod #name {
                use super::*;
                #function
                #(#[test] fn #names() { #calls })*
            }
        });
    }
    Ok(quote! {
        #(#attributes)*
        #[test]
        fn #name() {
            #function
            #({ let _at = ::warpnest_tests::at(#names); #calls })*
        }
    })
}

/// Returns the names of the widths, and the type arguments of each.
fn widths(function: &ItemFn) -> Result<Vec<(&'static str, Tokens)>> {
    let generics = &function.sig.generics;
    match generics.params.len() {
        0 => Ok(vec![("of one width", quote!())]),
        1 => Ok(vec![("keys_32", quote!(::<u32>)), ("keys_64", quote!(::<u64>))]),
        2 => Ok(vec![
            ("keys_32_values_32", quote!(::<u32, u32>)),
            ("keys_32_values_64", quote!(::<u32, u64>)),
            ("keys_64_values_32", quote!(::<u64, u32>)),
            ("keys_64_values_64", quote!(::<u64, u64>)),
        ]),
        _ => Err(Error::new_spanned(generics, "give one type parameter, for keys, or two, for keys and values")),
    }
}

/// Returns the call of the function with these type arguments.
fn call(function: &ItemFn, types: Tokens) -> Result<Tokens> {
    let inputs = &function.sig.inputs;
    let text = |argument: &FnArg| match argument {
        FnArg::Typed(typed) => typed.ty.to_token_stream().to_string(),
        FnArg::Receiver(_) => String::new(),
    };
    let arguments: Vec<String> = inputs.iter().map(text).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Ok(quote!(with #types ();)),
        ["& Device"] => Ok(quote!(::warpnest_tests::on_all(with #types);)),
        ["& TestEngine"] => Ok(quote!(::warpnest_tests::on_each_engine(with #types);)),
        _ => Err(Error::new_spanned(inputs, "give `&Device`, or `&TestEngine`, or no argument")),
    }
}
