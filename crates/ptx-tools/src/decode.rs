//! The decoder of an entry point's statements to [`Code`].

mod allocate;
mod control;
mod float;
mod integer;
mod memory;
pub(crate) mod names;
mod operand;
mod syntax;

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use crate::code::{Code, Instruction, Kind, Op, Slot};
use crate::memory::{DYNAMIC_START, SHARED_GAP, SHARED_START};
use crate::outline::{BodyItem, Statement};
use crate::token::Token;
use names::{Name, Scopes, Slots, number};
pub(crate) use syntax::variable;
use syntax::{Reason, split};

/// A statement that the decoder does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unknown {
    pub line: u32,
    pub instruction: String,
    pub reason: String,
}

/// The names from outside of the entry point: its parameters (by offset) and the module's variables
/// (by address).
pub(crate) struct Outer<'a> {
    pub params: HashMap<&'a str, u64>,
    pub globals: &'a HashMap<String, u64>,
    /// The shared arrays of the module: name, bytes and alignment. A size of 0 marks the dynamic
    /// array.
    pub shared: &'a [(String, u64, u64)],
}

/// A branch whose target is not known yet. `at` is the list item or instruction to patch, and
/// `label` is looked up in `scope`.
struct Fixup<'a> {
    at: Patch,
    scope: usize,
    label: &'a str,
    statement: u32,
}

enum Patch {
    Instruction(usize),
    List(usize),
}

pub(crate) struct Decoder<'a> {
    code: Code,
    slots: Slots,
    scopes: Scopes,
    labels: HashMap<(usize, &'a str), u32>,
    /// The start and length of each branch table in the lists.
    tables: HashMap<&'a str, (u32, u32)>,
    fixups: Vec<Fixup<'a>>,
    last_label: &'a str,
    outer: &'a Outer<'a>,
    /// The guard of the current statement, and the value for which the statement is skipped.
    guard: (Slot, bool),
    shared_end: u64,
}

/// Decodes the body of an entry point.
pub(crate) fn decode<'a>(items: &[BodyItem<'a, 'a>], outer: &'a Outer<'a>) -> Result<Code, Unknown> {
    let mut d = Decoder {
        code: Code::default(),
        slots: Slots::new(),
        scopes: Scopes::new(),
        labels: HashMap::new(),
        tables: HashMap::new(),
        fixups: Vec::new(),
        last_label: "",
        outer,
        guard: (crate::code::TRUE, false),
        shared_end: SHARED_START,
    };
    d.module_shared(items);
    for item in items {
        match item {
            BodyItem::Open => d.scopes.open(),
            BodyItem::Close => d.scopes.close(),
            BodyItem::Label(name) => {
                d.last_label = name;
                d.labels.insert((d.scopes.current(), name), d.code.instructions.len() as u32);
            }
            BodyItem::Statement(s) => {
                d.code.statements.push((s.line(), s.one_line()));
                d.statement(s).map_err(|reason| Unknown { line: s.line(), instruction: s.one_line(), reason })?;
            }
        }
    }
    d.finish()
}

impl<'a> Decoder<'a> {
    /// Assigns addresses to the module's shared arrays that the entry point uses.
    fn module_shared(&mut self, items: &[BodyItem]) {
        let mut dynamic = Vec::new();
        let names = |name: &str| {
            items.iter().any(|p| matches!(p, BodyItem::Statement(s) if s.tokens.iter().any(|t| t.text == name)))
        };
        for (name, bytes, align) in self.outer.shared {
            if !names(name) {
                continue;
            }
            if *bytes == 0 {
                dynamic.push(name.clone());
            } else {
                self.shared_array(name.clone(), *bytes, *align);
            }
        }
        if !dynamic.is_empty() {
            self.code.has_dynamic = true;
            for name in dynamic {
                self.scopes.declare(name, Name::Address(DYNAMIC_START));
            }
        }
    }

    fn shared_array(&mut self, name: String, bytes: u64, align: u64) {
        let start = self.shared_end.next_multiple_of(align.max(16));
        self.shared_end = start + bytes + SHARED_GAP;
        self.code.shared.push((start, start + bytes));
        self.scopes.declare(name, Name::Address(start));
    }

    fn statement(&mut self, s: &Statement<'a, 'a>) -> Result<(), Reason> {
        self.guard = (crate::code::TRUE, false);
        let mut tokens = s.tokens;
        match tokens[0].text {
            ".reg" => return self.registers(tokens),
            ".shared" => {
                let (name, bytes, align) = variable(tokens).ok_or("a shared array was expected")?;
                self.shared_array(name, bytes, align);
                return Ok(());
            }
            ".local" => {
                let (name, bytes, align) = variable(tokens).ok_or("a local array was expected")?;
                let start = self.code.local_bytes.next_multiple_of(align.max(1));
                self.code.local_bytes = start + bytes;
                self.scopes.declare(name, Name::Address(start));
                return Ok(());
            }
            ".pragma" => return Ok(()),
            ".branchtargets" => return self.branch_targets(tokens),
            "@" => {
                let negate = tokens.get(1).is_some_and(|t| t.is("!"));
                let at = 1 + usize::from(negate);
                let name = tokens.get(at).ok_or("a guard predicate was expected")?.text;
                self.guard = (self.register(name)?, negate);
                tokens = &tokens[at + 1..];
            }
            word if word.starts_with('.') => return Err("directive".into()),
            _ => {}
        }
        let opcode = tokens.first().ok_or("an opcode was expected")?.text;
        let parts: Vec<&str> = opcode.split('.').collect();
        let operands = split(&tokens[1..])?;
        let known = self.memory(&parts, &operands)?
            || self.control(&parts, &operands)?
            || self.float(&parts, &operands)?
            || self.integer(&parts, &operands)?;
        if known { Ok(()) } else { Err("opcode".into()) }
    }

    /// Appends an instruction with the guard of the current statement.
    fn push(&mut self, instruction: Instruction) {
        let (guard, skip_if) = self.guard;
        self.code.instructions.push(Instruction { guard, skip_if, ..instruction });
        self.code.statement_of.push(self.code.statements.len().saturating_sub(1) as u32);
    }

    /// Declares registers: `.reg .b32 %r<40>` or `.reg .b32 x, y`.
    fn registers(&mut self, tokens: &[Token<'a>]) -> Result<(), Reason> {
        let kind = tokens.get(1).ok_or("a type was expected")?.text.trim_start_matches('.');
        let bits = if kind == "b128" { 128 } else { Kind::parse(kind).ok_or("a register's type was expected")?.bits() };
        for part in split(&tokens[2..])? {
            let name = part[0].text;
            let register = Name::Register { bits, slot: None };
            match part {
                [_] => self.scopes.declare(name.to_string(), register),
                [_, open, count, close] if open.is("<") && close.is(">") => {
                    let count = number(count.text).filter(|&n| n <= 1 << 20).ok_or("a count was expected")?;
                    for i in 0..count {
                        self.scopes.declare(format!("{name}{i}"), register);
                    }
                }
                _ => return Err("a register's name was expected".into()),
            }
        }
        Ok(())
    }

    fn branch_targets(&mut self, tokens: &'a [Token<'a>]) -> Result<(), Reason> {
        let start = self.code.lists.len() as u32;
        for part in split(&tokens[1..])? {
            let at = Patch::List(self.code.lists.len());
            self.fixup(at, part[0].text);
            self.code.lists.push(0);
        }
        self.tables.insert(self.last_label, (start, self.code.lists.len() as u32 - start));
        Ok(())
    }

    fn fixup(&mut self, at: Patch, label: &'a str) {
        let statement = self.code.statements.len() as u32 - 1;
        self.fixups.push(Fixup { at, scope: self.scopes.current(), label, statement });
    }

    fn finish(mut self) -> Result<Code, Unknown> {
        if self.shared_end > DYNAMIC_START {
            let (line, instruction) = self.code.statements[0].clone();
            return Err(Unknown { line, instruction, reason: "more shared memory than any GPU has".into() });
        }
        // A body may end without `ret`, so an exit is appended.
        self.guard = (crate::code::TRUE, false);
        self.push(Instruction { op: Op::Exit, ..Instruction::default() });
        if self.code.statements.is_empty() {
            self.code.statements.push((0, "(end of the entry)".into()));
        }
        for f in &self.fixups {
            let target = self.scopes.outwards(f.scope).find_map(|s| self.labels.get(&(s, f.label)));
            let Some(&target) = target else {
                let (line, instruction) = self.code.statements[f.statement as usize].clone();
                return Err(Unknown { line, instruction, reason: format!("no label {}", f.label) });
            };
            match f.at {
                Patch::Instruction(i) => self.code.instructions[i].d = target,
                Patch::List(i) => self.code.lists[i] = target,
            }
        }
        self.code.reached = self.code.instructions.iter().map(|_| AtomicBool::new(false)).collect();
        self.code.constants = self.slots.constants();
        let count = self.slots.count();
        self.code.specials = self.slots.specials;
        let (constants, specials) = (&self.code.constants, &self.code.specials);
        let pinned = constants.iter().map(|c| c.0).chain(specials.iter().map(|s| s.0)).collect();
        allocate::allocate(&mut self.code, count, pinned);
        Ok(self.code)
    }
}
