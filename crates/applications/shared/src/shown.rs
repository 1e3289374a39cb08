//! Numbers and texts in the form in which users see them.

/// Returns a number with commas between its thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a text cut to fit messages and columns, with spaces for control characters, which a
/// terminal would obey.
pub fn shortened(text: &str) -> String {
    cut(text, 40)
}

/// Returns a text cut to `most` characters, with spaces for control characters.
pub fn cut(text: &str, most: usize) -> String {
    let plain = |character: char| if character.is_control() { ' ' } else { character };
    if text.chars().nth(most).is_none() {
        return text.chars().map(plain).collect();
    }
    text.chars().take(most - 3).map(plain).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_in_groups_of_three() {
        let numbers = [0, 999, 1000, 1_234_567].map(grouped);
        assert_eq!(numbers, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(cut("stanford_dragon_res2.ply.gz", 18), "stanford_dragon...");
        assert_eq!(cut("bunny.ply", 18), "bunny.ply");
    }
}
