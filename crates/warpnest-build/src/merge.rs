//! The merge of a build of some kernels into a file, whose old entry points they replace.

use std::collections::{BTreeMap, BTreeSet};

/// The beginning of an entry point, whose text ends with a line that is `}`.
const ENTRY: &str = ".visible .entry ";

/// Returns the PTX `whole` with the entry points of `some`. They replace entry points of the same
/// name, and other new entry points are appended.
///
/// The data of the old entry points stays. The data of the new ones is renamed to names that
/// `whole` does not use.
pub fn merge(whole: &str, some: &str) -> String {
    let (whole_head, whole_entries) = split(whole);
    let (head, entries) = split(some);
    let known: BTreeSet<&str> = words(whole).collect();
    let data: Vec<&str> = head.lines().filter(|line| name_of_data(line).is_some()).collect();
    let names = data.iter().filter_map(|line| name_of_data(line));
    let names = names.filter(|name| known.contains(name));
    let new_name = |name: &str| (1..).map(|n| format!("{name}_{n}")).find(|new| !known.contains(new.as_str()));
    let renamed: BTreeMap<&str, String> = names.filter_map(|name| Some((name, new_name(name)?))).collect();

    let mut text = whole_head.trim_end().to_owned() + "\n";
    let missing = head.lines().filter(|line| line.starts_with(".extern ") && !whole_head.contains(line));
    missing.chain(data).for_each(|line| text += &(rename(line, &renamed) + "\n"));
    let mut newer: BTreeMap<&str, String> =
        entries.into_iter().map(|(name, entry)| (name, rename(entry, &renamed))).collect();
    for (name, entry) in whole_entries {
        text += newer.remove(name).as_deref().unwrap_or(entry);
    }
    newer.into_values().for_each(|entry| text += &entry);
    text
}

/// Splits PTX into the text before the first entry point, and the entry points with their names.
pub fn split(ptx: &str) -> (&str, Vec<(&str, &str)>) {
    let starts = ptx.match_indices(ENTRY).map(|(at, _)| at).filter(|&at| at == 0 || ptx.as_bytes()[at - 1] == b'\n');
    let mut starts: Vec<usize> = starts.collect();
    starts.push(ptx.len());
    let entry = |pair: &[usize]| {
        let text = &ptx[pair[0]..pair[1]];
        (words(&text[ENTRY.len()..]).next().unwrap_or_default(), text)
    };
    (&ptx[..starts[0]], starts.windows(2).map(entry).collect())
}

/// Returns the name of the data that a line of PTX declares, if it declares some.
pub fn name_of_data(line: &str) -> Option<&str> {
    words(line.strip_prefix(".global ")?.split(['[', '=', ';']).next()?).last()
}

fn is_of_a_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

/// Returns the names, numbers and directives of a text.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_of_a_word(c)).filter(|word| !word.is_empty())
}

/// Replaces the words of a text that have new names.
fn rename(text: &str, names: &BTreeMap<&str, String>) -> String {
    let parts = text.split_inclusive(|c| !is_of_a_word(c));
    let renamed = parts.map(|part| {
        let word = part.trim_end_matches(|c| !is_of_a_word(c));
        names.get(word).map_or(part.to_owned(), |new| new.to_owned() + &part[word.len()..])
    });
    renamed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "\
// head
.version 8.3

.extern .shared .align 16 .b8 dynamic_words[];
.global .align 4 .b8 switch_$_one[4] = {1};
.global .align 4 .b8 switch_$_one2[4] = {2};

.visible .entry one(
	.param .u64 one_param_0
)
{
	mov.u64 %rd1, switch_$_one;
}
	// .globl	two
.visible .entry two()
{
	mov.u64 %rd1, switch_$_one2;
}
";

    #[test]
    fn newer_entry_points_take_the_place_of_older_ones_and_bring_their_data() {
        let some = "\
.version 8.3
.global .align 4 .b8 switch_$_one[4] = {3};
.visible .entry two()
{
	mov.u64 %rd2, switch_$_one;
}
.visible .entry three()
{
	ret;
}
";
        let expected = "\
// head
.version 8.3

.extern .shared .align 16 .b8 dynamic_words[];
.global .align 4 .b8 switch_$_one[4] = {1};
.global .align 4 .b8 switch_$_one2[4] = {2};
.global .align 4 .b8 switch_$_one_1[4] = {3};
.visible .entry one(
	.param .u64 one_param_0
)
{
	mov.u64 %rd1, switch_$_one;
}
	// .globl	two
.visible .entry two()
{
	mov.u64 %rd2, switch_$_one_1;
}
.visible .entry three()
{
	ret;
}
";
        let merged = merge(WHOLE, some);
        assert_eq!(merged, expected);
        // In a second merge the data gets another name, because the first name is used.
        assert!(merge(&merged, some).contains("mov.u64 %rd2, switch_$_one_2;"));
    }

    #[test]
    fn an_array_that_the_launch_measures_is_declared_once() {
        let some = ".extern .shared .align 16 .b8 dynamic_words[];\n.visible .entry one()\n{\n\tret;\n}\n";
        assert_eq!(merge(WHOLE, some).matches(".extern").count(), 1);
        let without = WHOLE.replace(".extern .shared .align 16 .b8 dynamic_words[];\n", "");
        assert_eq!(merge(&without, some).matches(".extern").count(), 1);
    }
}
