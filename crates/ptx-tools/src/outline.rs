//! The outline of a PTX module: its functions, divided into statements, and its variables.
//!
//! The outline does not interpret the statements. Both the linter and the interpreter's decoder use
//! it.

use crate::token::{Token, TokenKind, tokens};

/// An error in text that this crate cannot parse as PTX.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ParseError {
    /// The line, counted from 1.
    pub line: u32,
    /// The text that was expected or found.
    pub message: String,
}

/// A statement: the tokens before a `;`, without the `;`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Statement<'a, 't> {
    pub tokens: &'t [Token<'a>],
    /// The text of the statement.
    pub text: &'a str,
}

impl<'a, 't> Statement<'a, 't> {
    fn new(text: &'a str, tokens: &'t [Token<'a>]) -> Self {
        let (first, last) = (tokens[0], tokens[tokens.len() - 1]);
        Statement { tokens, text: &text[first.start..last.start + last.text.len()] }
    }

    pub fn line(&self) -> u32 {
        self.tokens[0].line
    }

    pub fn asm_block(&self) -> u32 {
        self.tokens[0].asm_block
    }

    /// Returns the text of the statement on one line.
    pub fn one_line(&self) -> String {
        self.text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Returns the opcode (or directive) after the guard predicate.
    pub fn opcode(&self) -> &'a str {
        let skip = match self.tokens {
            [at, not, ..] if at.is("@") && not.is("!") => 3,
            [at, ..] if at.is("@") => 2,
            _ => 0,
        };
        self.tokens.get(skip).map_or("", |t| t.text)
    }
}

/// A part of a function's body.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BodyItem<'a, 't> {
    /// A `{` that opens a scope.
    Open,
    /// The `}` that closes a scope.
    Close,
    Label(&'a str),
    Statement(Statement<'a, 't>),
}

/// A function: an `.entry` or a `.func`.
#[derive(Clone, Debug)]
pub(crate) struct Function<'a, 't> {
    pub is_entry: bool,
    pub is_extern: bool,
    pub name: &'a str,
    pub line: u32,
    /// The tokens between the parentheses after the name.
    pub params: &'t [Token<'a>],
    /// The tokens between the parameters and the body, such as `.maxntid`.
    pub directives: &'t [Token<'a>],
    /// The items of the body. A declaration has none.
    pub body: Vec<BodyItem<'a, 't>>,
}

/// The outline of a whole module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outline<'a, 't> {
    pub version: &'a str,
    pub target: &'a str,
    pub functions: Vec<Function<'a, 't>>,
    /// The variables at module level (`.global`, `.const`, `.shared`), including their linkage
    /// words.
    pub variables: Vec<Statement<'a, 't>>,
}

/// Returns the tokens of `text`, which the caller passes to [`outline`].
pub(crate) fn tokenise(text: &str) -> Vec<Token<'_>> {
    tokens(text)
}

/// Divides a module into functions and variables.
pub(crate) fn outline<'a, 't>(text: &'a str, tokens: &'t [Token<'a>]) -> Result<Outline<'a, 't>, ParseError> {
    Reader { text, tokens, at: 0 }.module()
}

struct Reader<'a, 't> {
    text: &'a str,
    tokens: &'t [Token<'a>],
    at: usize,
}

impl<'a, 't> Reader<'a, 't> {
    fn error<T>(&self, message: impl Into<String>) -> Result<T, ParseError> {
        let line = self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |t| t.line);
        Err(ParseError { line, message: message.into() })
    }

    fn peek(&self) -> Option<&'t Token<'a>> {
        self.tokens.get(self.at)
    }

    fn next_is(&self, text: &str) -> bool {
        self.peek().is_some_and(|t| t.is(text))
    }

    fn word(&mut self) -> Result<&'a str, ParseError> {
        match self.peek() {
            Some(t) if t.kind == TokenKind::Word => {
                self.at += 1;
                Ok(t.text)
            }
            Some(t) => self.error(format!("a word was expected, not `{}`", t.text)),
            None => self.error("a word was expected at the end of the text"),
        }
    }

    /// Returns the tokens up to the first of `ends` outside of brackets, which is not consumed.
    fn until(&mut self, ends: &[&str]) -> Result<&'t [Token<'a>], ParseError> {
        let start = self.at;
        let mut depth = 0u32;
        while let Some(t) = self.peek() {
            if depth == 0 && ends.iter().any(|e| t.is(e)) {
                return Ok(&self.tokens[start..self.at]);
            }
            match t.text {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" if depth == 0 => break,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
        self.error(format!("`{}` was expected", ends.join("` or `")))
    }

    fn skip_line(&mut self) {
        let line = self.tokens[self.at].line;
        while self.peek().is_some_and(|t| t.line == line) {
            self.at += 1;
        }
    }

    fn module(&mut self) -> Result<Outline<'a, 't>, ParseError> {
        let mut out = Outline::default();
        let mut first = self.at;
        while let Some(&token) = self.peek() {
            match token.text {
                // Linkage words belong to the next directive.
                ".visible" | ".weak" | ".extern" | ".common" => {
                    self.at += 1;
                    continue;
                }
                ".version" => {
                    self.at += 1;
                    out.version = self.word()?;
                }
                ".target" => {
                    self.at += 1;
                    out.target = self.word()?;
                    while self.next_is(",") {
                        self.at += 2;
                    }
                }
                ".address_size" => self.at += 2,
                ".file" => self.skip_line(),
                ".section" => {
                    self.until(&["{"])?;
                    self.at += 1;
                    self.until(&["}"])?;
                    self.at += 1;
                }
                ".entry" | ".func" => {
                    let linkage = &self.tokens[first..self.at];
                    out.functions.push(self.function(linkage)?);
                }
                ";" => self.at += 1,
                word if word.starts_with('.') => {
                    self.until(&[";"])?;
                    let statement = Statement::new(self.text, &self.tokens[first..self.at]);
                    if [".global", ".const", ".shared"].iter().any(|space| statement.tokens.iter().any(|t| t.is(space)))
                    {
                        out.variables.push(statement);
                    }
                    self.at += 1;
                }
                other => return self.error(format!("`{other}` where a directive was expected")),
            }
            first = self.at;
        }
        Ok(out)
    }

    fn function(&mut self, linkage: &[Token<'a>]) -> Result<Function<'a, 't>, ParseError> {
        let line = self.tokens[self.at].line;
        let is_entry = self.word()? == ".entry";
        if self.next_is("(") {
            // These are the function's results.
            self.at += 1;
            self.until(&[")"])?;
            self.at += 1;
        }
        let name = self.word()?;
        let mut params: &[Token] = &[];
        if self.next_is("(") {
            self.at += 1;
            params = self.until(&[")"])?;
            self.at += 1;
        }
        let directives = self.until(&["{", ";"])?;
        let mut body = Vec::new();
        if self.next_is("{") {
            self.at += 1;
            body = self.body()?;
        } else {
            self.at += 1;
        }
        let is_extern = linkage.iter().any(|t| t.is(".extern"));
        Ok(Function { is_entry, is_extern, name, line, params, directives, body })
    }

    fn body(&mut self) -> Result<Vec<BodyItem<'a, 't>>, ParseError> {
        let mut items = Vec::new();
        let mut depth = 0u32;
        loop {
            let Some(token) = self.peek() else { return self.error("the text ends inside a function") };
            match token.text {
                "{" => {
                    depth += 1;
                    items.push(BodyItem::Open);
                    self.at += 1;
                }
                "}" => {
                    self.at += 1;
                    if depth == 0 {
                        return Ok(items);
                    }
                    depth -= 1;
                    items.push(BodyItem::Close);
                }
                ";" => self.at += 1,
                ".loc" => self.skip_line(),
                _ if self.tokens.get(self.at + 1).is_some_and(|t| t.is(":")) => {
                    items.push(BodyItem::Label(token.text));
                    self.at += 2;
                }
                _ => {
                    let tokens = self.until(&[";"])?;
                    items.push(BodyItem::Statement(Statement::new(self.text, tokens)));
                    self.at += 1;
                }
            }
        }
    }
}
