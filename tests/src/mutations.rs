//! Files that somebody crafted: random changes of a saved file, with all checksums made right
//! again.

use crate::files::{PAGE, repair, sections};
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::Rng;

/// Returns a random number below `end`.
fn below(random: &mut Xoshiro256StarStar, end: usize) -> usize {
    (random.next_u64() % end.max(1) as u64) as usize
}

/// Returns a word that code may not expect: a bit, few bits, nearly all bits, or any bits.
fn word(random: &mut Xoshiro256StarStar) -> u64 {
    match below(random, 6) {
        0 => 1 << below(random, 64),
        1 => random.next_u64() % 16,
        2 => u64::MAX - random.next_u64() % 16,
        3 => u32::MAX as u64 - random.next_u64() % 16,
        4 => random.next_u64() >> below(random, 64),
        _ => random.next_u64(),
    }
}

/// Changes numbers of the header, or some of the data, and then makes the checksums right.
pub fn mutate(bytes: &mut [u8], random: &mut Xoshiro256StarStar) {
    for _ in 0..1 + below(random, 4) {
        change(bytes, random);
    }
    repair(bytes);
}

fn change(bytes: &mut [u8], random: &mut Xoshiro256StarStar) {
    let data = sections(bytes);
    // An earlier change may have replaced the count of numbers by any value.
    let numbers = (u32::from_le_bytes(bytes[16..20].try_into().unwrap()) as usize).min(400) + data.len();
    if below(random, 3) == 0 {
        // This changes a number of the header, or the length of a section.
        let at = 32 + 8 * below(random, numbers);
        let old = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let new = match below(random, 4) {
            0 => old.wrapping_add(1),
            1 => old.wrapping_sub(1),
            2 => old ^ 1 << below(random, 64),
            _ => word(random),
        };
        bytes[at..at + 8].copy_from_slice(&new.to_le_bytes());
        return;
    }
    let data: Vec<_> = data.into_iter().filter(|data| !data.is_empty() && data.end <= bytes.len()).collect();
    if data.is_empty() {
        bytes[8 + below(random, PAGE - 16)] ^= 1 << below(random, 8);
        return;
    }
    let section = data[below(random, data.len())].clone();
    let at = section.start + below(random, section.len());
    // This is the range of the 32-bit or 64-bit word that contains a byte of the section.
    let word_at = |at: usize, size: usize| {
        let at = section.start + (at - section.start) / size * size;
        at..(at + size).min(section.end)
    };
    let size = [4, 8][below(random, 2)];
    match below(random, 9) {
        0 => bytes[at] ^= 1 << below(random, 8),
        1 => bytes[at] = random.next_u64() as u8,
        2 | 3 => {
            let place = word_at(at, size);
            let new = word(random).to_le_bytes();
            bytes[place.clone()].copy_from_slice(&new[..place.len()]);
        }
        4 => {
            // A word becomes a little larger or smaller, or one of its bits is flipped.
            let place = word_at(at, size);
            let mut old = [0; 8];
            old[..place.len()].copy_from_slice(&bytes[place.clone()]);
            let (old, few) = (u64::from_le_bytes(old), random.next_u64() % 4);
            let new = [old.wrapping_add(few), old.wrapping_sub(few), old ^ 1 << below(random, 64)][below(random, 3)];
            bytes[place.clone()].copy_from_slice(&new.to_le_bytes()[..place.len()]);
        }
        5 => {
            // Two words are swapped.
            let (one, other) = (word_at(at, size), word_at(section.start + below(random, section.len()), size));
            if one.len() == other.len() {
                let held = bytes[one.clone()].to_vec();
                bytes.copy_within(other.clone(), one.start);
                bytes[other].copy_from_slice(&held);
            }
        }
        6 => {
            // Some words are copied elsewhere, so keys or a whole bucket occur twice.
            let length = (4 << below(random, 6)).min(section.len());
            let from = section.start + below(random, section.len() - length + 1) / 4 * 4;
            let to = section.start + below(random, section.len() - length + 1) / 4 * 4;
            bytes.copy_within(from..from + length, to);
        }
        7 => {
            // The same word fills a whole part.
            let (start, new) = (word_at(at, size).start, word(random).to_le_bytes());
            let end = section.end.min(start + size * below(random, 64));
            for place in bytes[start..end].chunks_exact_mut(size) {
                place.copy_from_slice(&new[..size]);
            }
        }
        _ => {
            // A part of the section, or all of it, is overwritten.
            let end = if below(random, 4) == 0 { section.end } else { section.end.min(at + below(random, 200)) };
            let byte = [0, 0xff, random.next_u64() as u8][below(random, 3)];
            bytes[at..end].fill(byte);
        }
    }
}
