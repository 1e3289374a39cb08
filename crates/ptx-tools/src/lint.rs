//! The linter for PTX that rustc made. [`Rule`] lists what it checks.

use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::outline::{BodyItem, Function, Outline, Statement, outline, tokenise};

/// The rule that a finding breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The text cannot be parsed as PTX.
    Unreadable,
    /// `.extern .func` or `.extern .global` declares a symbol that nothing defines, so the driver
    /// refuses the module.
    Undefined,
    /// The entry point has a stack frame, so it uses local memory.
    StackFrame,
    /// The entry point has a function call, because a helper was not inlined.
    Call,
    /// A load, store or atomic does not name its memory space.
    GenericAccess,
    /// An operation of several threads is written in `asm!`, which LLVM may duplicate or move into
    /// a branch.
    ConvergentAsm,
    /// An entry point contains the same `asm!` block with a `.shared` array twice, so there are two
    /// arrays.
    SharedTwice,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::Unreadable => "unreadable",
            Rule::Undefined => "undefined symbol",
            Rule::StackFrame => "stack frame",
            Rule::Call => "call",
            Rule::GenericAccess => "generic-space access",
            Rule::ConvergentAsm => "convergent operation in asm!",
            Rule::SharedTwice => ".shared asm! block expanded more than once",
        })
    }
}

/// A violation of a rule in the PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The entry point's name, or an empty string at module level.
    pub entry: String,
    /// The rule that was broken.
    pub rule: Rule,
    /// The line number and the text of the statement.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.entry.is_empty() { "module" } else { &self.entry };
        write!(f, "{name}: {}: {}", self.rule, self.message)
    }
}

/// The opcodes whose result depends on which threads execute them together.
const CONVERGENT: [&str; 8] = ["bar", "barrier", "activemask", "elect", "vote", "shfl", "match", "redux"];

/// Returns the findings in `text`, one for each violation of a [`Rule`]. They are in the order of
/// the text within each function.
pub fn lint(text: &str) -> Vec<Finding> {
    let tokens = tokenise(text);
    let outline = match outline(text, &tokens) {
        Ok(outline) => outline,
        Err(error) => {
            return vec![Finding { entry: String::new(), rule: Rule::Unreadable, message: error.to_string() }];
        }
    };
    let mut findings = Vec::new();
    undefined(&outline, &mut findings);
    // A `.func` that no entry point calls is harmless. If an entry point calls it, the call is a
    // finding.
    for function in outline.functions.iter().filter(|f| f.is_entry) {
        body(function, &mut findings);
    }
    findings
}

fn finding(entry: &str, rule: Rule, statement: &Statement) -> Finding {
    let message = format!("line {}: {}", statement.line(), statement.one_line());
    Finding { entry: entry.to_string(), rule, message }
}

fn undefined(outline: &Outline, findings: &mut Vec<Finding>) {
    let defined: HashSet<&str> = outline.functions.iter().filter(|f| !f.is_extern).map(|f| f.name).collect();
    for f in outline.functions.iter().filter(|f| f.is_extern && !defined.contains(f.name)) {
        let message = format!("line {}: .extern .func {}", f.line, f.name);
        findings.push(Finding { entry: String::new(), rule: Rule::Undefined, message });
    }
    for v in &outline.variables {
        // `.extern .shared` declares dynamic shared memory, which is allowed.
        let has = |word| v.tokens.iter().any(|t| t.is(word));
        if has(".extern") && !has(".shared") {
            findings.push(finding("", Rule::Undefined, v));
        }
    }
}

fn body(function: &Function, findings: &mut Vec<Finding>) {
    // The text of each `.shared` block of inline assembly without its register names, with the
    // count of its occurrences.
    let mut shared: HashMap<String, u32> = HashMap::new();
    let mut shared_block = 0;
    let statements =
        || function.body.iter().filter_map(|p| if let BodyItem::Statement(s) = p { Some(s) } else { None });
    for s in statements() {
        let opcode = s.opcode();
        let mut parts = opcode.split('.');
        let head = parts.next().unwrap_or("");
        if opcode == ".local" && s.text.contains("__local_depot") {
            findings.push(finding(function.name, Rule::StackFrame, s));
        }
        if head == "call" {
            findings.push(finding(function.name, Rule::Call, s));
        }
        let has_space = parts.any(|p| {
            let space = p.split("::").next().unwrap_or("");
            matches!(space, "global" | "shared" | "param" | "local" | "const")
        });
        if matches!(head, "ld" | "st" | "atom" | "red") && !has_space {
            findings.push(finding(function.name, Rule::GenericAccess, s));
        }
        if s.asm_block() == 0 {
            continue;
        }
        if CONVERGENT.contains(&head) || opcode.split('.').any(|p| p == "sync") {
            findings.push(finding(function.name, Rule::ConvergentAsm, s));
        }
        if opcode == ".shared" && s.asm_block() != shared_block {
            shared_block = s.asm_block();
            let key = without_registers(statements().filter(|o| o.asm_block() == shared_block));
            let times = shared.entry(key).or_default();
            *times += 1;
            if *times > 1 {
                findings.push(finding(function.name, Rule::SharedTwice, s));
            }
        }
    }
}

/// Returns the text of statements with all register names replaced by `%`, because expansions of
/// one `asm!` block differ only in these.
fn without_registers<'a: 't, 't>(statements: impl Iterator<Item = &'t Statement<'a, 't>>) -> String {
    let mut out = String::new();
    for s in statements {
        for t in s.tokens {
            out.push_str(if t.text.starts_with('%') { "%" } else { t.text });
            out.push(' ');
        }
        out.push(';');
    }
    out
}
