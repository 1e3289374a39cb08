//! The checks of a document: spans in backticks, command lines, links and placeholders.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::names::Names;

/// Placeholders that somebody meant to replace.
const PLACEHOLDERS: [&str; 5] = ["FIXME", "LOREM", "TBD", "TODO", "XXX"];

/// Checks a document; `find` receives each finding with its line.
pub fn check<'t>(
    path: &str,
    text: &str,
    names: &Names,
    text_of: &dyn Fn(&str) -> Option<&'t str>,
    find: &mut dyn FnMut(usize, String),
) {
    let line_of = |range: &Range<usize>| 1 + text[..range.start].matches('\n').count();
    let mut in_commands = false;
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Code(code) => {
                names.missing_in(&code, path).into_iter().for_each(|what| find(line_of(&range), what));
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                in_commands = matches!(kind, CodeBlockKind::Fenced(language) if &*language == "sh");
            }
            Event::End(TagEnd::CodeBlock) => in_commands = false,
            Event::Text(block) if in_commands => {
                for (index, command) in block.lines().enumerate() {
                    let command = command.split_once('#').map_or(command, |(command, _)| command);
                    let missing = names.missing_in_command(command).unwrap_or_default();
                    missing.into_iter().for_each(|what| find(line_of(&range) + index, what));
                }
            }
            Event::Text(words) => {
                let word = placeholder(&words);
                word.into_iter().for_each(|word| find(line_of(&range), format!("the placeholder {word} is left")));
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. })
                if !leads_somewhere(&dest_url, path, text, names, text_of) =>
            {
                find(line_of(&range), format!("the link to {dest_url} leads nowhere"));
            }
            _ => {}
        }
    }
    for (index, line) in text.lines().enumerate() {
        // A paragraph of one word in capitals is a placeholder.
        if line.len() > 2 && line.chars().all(|c| c.is_ascii_uppercase()) && !PLACEHOLDERS.contains(&line) {
            find(index + 1, format!("the placeholder {line} is left"));
        }
    }
}

/// Returns the placeholder in a text, if there is one.
pub fn placeholder(text: &str) -> Option<&'static str> {
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.find_map(|word| PLACEHOLDERS.into_iter().find(|placeholder| *placeholder == word))
}

/// Returns whether a link's target exists. Web addresses are not fetched, and rustdoc checks items
/// of code.
fn leads_somewhere<'t>(
    target: &str,
    path: &str,
    text: &str,
    names: &Names,
    text_of: &dyn Fn(&str) -> Option<&'t str>,
) -> bool {
    let (file, heading) = target.split_once('#').map_or((target, None), |(file, heading)| (file, Some(heading)));
    if target.contains("://") || target.contains("::") {
        return true;
    }
    // These are items and pages of the crate's documentation.
    if path.starts_with("crates/") && (!file.contains(['/', '.']) || file.ends_with(".html")) {
        return true;
    }
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => return false,
            ".." => {}
            part => parts.push(part),
        }
    }
    let whole = parts.join("/");
    let (text, exists) = if file.is_empty() { (Some(text), true) } else { (text_of(&whole), names.is_path(&whole)) };
    exists && heading.is_none_or(|heading| text.is_some_and(|text| headings(text).any(|other| other == heading)))
}

/// Returns the anchors of a document's headings, as code hosts and rustdoc make them.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let mut in_heading = false;
    let mut words = String::new();
    Parser::new_ext(text, Options::ENABLE_TABLES).filter_map(move |event| match event {
        Event::Start(Tag::Heading { .. }) => {
            in_heading = true;
            words.clear();
            None
        }
        Event::Text(part) | Event::Code(part) if in_heading => {
            words += &part;
            None
        }
        Event::End(TagEnd::Heading(_)) => {
            in_heading = false;
            let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            Some(kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect())
        }
        _ => None,
    })
}
