//! A PTX module, parsed and decoded.

use std::collections::HashMap;

use crate::code::{Code, Kind};
use crate::decode::names::number;
use crate::decode::{Outer, Unknown, decode, variable};
use crate::memory::Constants;
use crate::outline::{Function, Outline, ParseError, Statement, outline, tokenise};
use crate::token::Token;

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// The parameter's name in the PTX.
    pub name: String,
    /// The parameter's offset in bytes.
    pub offset: usize,
    /// The parameter's size in bytes.
    pub size: usize,
    /// The parameter's alignment in bytes.
    pub align: usize,
}

/// A kernel of a module.
#[derive(Debug)]
pub struct Entry {
    /// The kernel's name.
    pub name: String,
    /// The kernel's parameters, in order.
    pub params: Vec<Param>,
    /// The most threads that a block may have (`.maxntid`), if the PTX limits them.
    pub max_threads: Option<u32>,
    /// The bytes of static shared memory.
    pub shared_bytes: usize,
    pub(crate) code: Result<Code, Unknown>,
}

impl Entry {
    /// Returns whether both kernels execute in the same way. Names may differ.
    pub fn has_same_code(&self, other: &Entry) -> bool {
        let params = |entry: &Entry| entry.params.iter().map(|p| (p.offset, p.size)).collect::<Vec<_>>();
        let (Ok(ours), Ok(theirs)) = (&self.code, &other.code) else { return false };
        self.max_threads == other.max_threads && params(self) == params(other) && ours.is_same(theirs)
    }

    /// Returns the count of statements that have instructions.
    pub fn statements(&self) -> usize {
        self.code.as_ref().map_or(0, |code| code.executed().len())
    }

    /// Returns the line and text of each statement that no launch of this module has executed yet.
    pub fn not_executed(&self) -> Vec<(u32, &str)> {
        let Ok(code) = &self.code else { return Vec::new() };
        let missing = code.executed().into_iter().filter(|(_, executed)| !executed);
        missing
            .filter_map(|(statement, _)| code.statements.get(statement as usize))
            .map(|(line, text)| (*line, text.as_str()))
            .collect()
    }
}

/// A PTX module. Threads may share it, because launches change nothing but the flags of executed
/// statements.
#[derive(Debug)]
pub struct Module {
    /// The version of the PTX language (`.version`).
    pub version: String,
    /// The GPU of the PTX (`.target`).
    pub target: String,
    /// The kernels, in the order of the text.
    pub entries: Vec<Entry>,
    /// The module's constant arrays. Decoded code contains their addresses.
    pub(crate) constants: Constants,
}

impl Module {
    /// Parses PTX text. An unknown instruction is reported only when its entry point is launched.
    pub fn parse(text: &str) -> Result<Module, ParseError> {
        let tokens = tokenise(text);
        let outline = outline(text, &tokens)?;
        let (constants, globals) = constants(&outline)?;
        let shared: Vec<_> = outline
            .variables
            .iter()
            .filter(|v| v.tokens.iter().any(|t| t.is(".shared")))
            .filter_map(|v| variable(v.tokens))
            .collect();
        let entries = outline
            .functions
            .iter()
            .filter(|f| f.is_entry)
            .map(|f| entry(f, &globals, &shared))
            .collect::<Result<_, _>>()?;
        Ok(Module { version: outline.version.to_string(), target: outline.target.to_string(), entries, constants })
    }

    /// Returns the entry point of this name.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.name == name)
    }
}

fn entry(
    function: &Function,
    globals: &HashMap<String, u64>,
    shared: &[(String, u64, u64)],
) -> Result<Entry, ParseError> {
    let params = params(function)?;
    let offsets = params.iter().map(|p| (p.name.as_str(), p.offset as u64)).collect();
    let code = decode(&function.body, &Outer { params: offsets, globals, shared });
    let max_threads = function.directives.iter().position(|t| t.is(".maxntid")).map(|at| {
        let sizes = function.directives[at + 1..].iter().take_while(|t| !t.text.starts_with('.'));
        sizes.filter_map(|t| number(t.text)).product::<u64>() as u32
    });
    let shared_bytes = code.as_ref().map_or(0, |c| c.shared.iter().map(|s| (s.1 - s.0) as usize).sum());
    Ok(Entry { name: function.name.to_string(), params, max_threads, shared_bytes, code })
}

/// Parses the parameters of a function, such as `.param .align 8 .b8 name[48]`. In `.param .u64
/// .ptr .align 1 name` the alignment belongs to the memory that the pointer points to.
fn params(function: &Function) -> Result<Vec<Param>, ParseError> {
    let mut out: Vec<Param> = Vec::new();
    let mut end = 0;
    let is_comma = |t: &Token| t.is(",");
    for part in function.params.split(is_comma).filter(|p| !p.is_empty()) {
        let pointer = part.iter().position(|t| t.is(".ptr"));
        let parsed = match pointer {
            Some(_) => part.last().map(|t| (t.text.to_string(), 8, 8)),
            None => variable(part),
        };
        let Some((name, size, align)) = parsed else {
            return Err(ParseError { line: part[0].line, message: "a parameter was expected".into() });
        };
        let (size, align) = (size as usize, align as usize);
        let offset = usize::next_multiple_of(end, align);
        end = offset + size;
        out.push(Param { name, offset, size, align });
    }
    Ok(out)
}

/// Lays out and fills the module's variables in global memory. Returns them with their addresses.
fn constants(outline: &Outline) -> Result<(Constants, HashMap<String, u64>), ParseError> {
    let mut variables = Vec::new();
    for v in &outline.variables {
        let has = |word| v.tokens.iter().any(|t| t.is(word));
        if has(".shared") || has(".extern") {
            continue;
        }
        let Some((name, bytes, align)) = variable(v.tokens) else {
            return Err(ParseError { line: v.line(), message: format!("a variable was expected: {}", v.one_line()) });
        };
        variables.push((name, bytes, align, v));
    }
    let sizes: Vec<_> = variables.iter().map(|v| (v.1, v.2)).collect();
    let mut constants = Constants::new(&sizes);
    let addresses: HashMap<String, u64> =
        variables.iter().enumerate().map(|(i, v)| (v.0.clone(), constants.address(i))).collect();
    for (i, (_, bytes, _, v)) in variables.iter().enumerate() {
        let mut value = vec![0u8; *bytes as usize];
        initialise(v, &mut value, &addresses)
            .ok_or_else(|| ParseError { line: v.line(), message: format!("initialiser: {}", v.one_line()) })?;
        constants.fill(i, &value);
    }
    Ok((constants, addresses))
}

/// Writes the value after `=`. It is an integer, a symbol or `generic(symbol)`, with an optional `+
/// number`, or a list of such values in braces.
fn initialise(v: &Statement, bytes_of: &mut [u8], addresses: &HashMap<String, u64>) -> Option<()> {
    let Some(equals) = v.tokens.iter().position(|t| t.is("=")) else { return Some(()) };
    let kind = v.tokens.iter().find_map(|t| Kind::parse(t.text.strip_prefix('.')?))?;
    let width = kind.bytes() as usize;
    let mut elements = bytes_of.chunks_exact_mut(width);
    for part in v.tokens[equals + 1..].split(|t| t.is(",")) {
        let (mut sum, mut negative, mut any) = (0u64, false, false);
        for t in part {
            match t.text {
                "{" | "}" | "+" | "(" | ")" | "generic" => {}
                "-" => negative = !negative,
                word => {
                    let value = number(word).or_else(|| addresses.get(word).copied())?;
                    sum = if negative { sum.wrapping_sub(value) } else { sum.wrapping_add(value) };
                    (negative, any) = (false, true);
                }
            }
        }
        if any {
            elements.next()?.copy_from_slice(&sum.to_le_bytes()[..width]);
        }
    }
    Some(())
}
