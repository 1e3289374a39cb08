//! The assignment of ids to rows by a device, which reads only their hashes. The host verifies the
//! ids.

use super::hashing::{Hashed, MIN_ROWS, hashes};
use super::numbered::Numbered;
use crate::relational::{Order, Unique};
use crate::{Device, Result};
use rayon::prelude::*;
use std::collections::HashMap;

/// Assigns ids to the rows of a column.
pub(super) fn numbered(device: &Device, strings: &dyn Hashed) -> Result<Numbered> {
    let hashes = hashes(strings);
    let unique = Unique::of(&hashes).ids().counts().first_rows().order(Order::FirstSeen).run(device)?;
    let (ids, counts, first_rows) = (unique.ids, unique.counts, unique.first_rows);
    let mut numbered = Numbered { ids, counts, first_rows, ..Numbered::default() };
    let differing = differing(&numbered, strings);
    if !differing.is_empty() {
        separate(&mut numbered, strings, &differing);
    }
    numbered.hashes = numbered.first_rows.iter().map(|&row| hashes[row as usize]).collect();
    Ok(numbered)
}

/// Returns the rows whose string differs from the string of the first row with their hash.
fn differing(numbered: &Numbered, strings: &dyn Hashed) -> Vec<u32> {
    let rows = numbered.ids.par_iter().enumerate().with_min_len(MIN_ROWS);
    let differs =
        |&(row, &id): &(usize, &u32)| strings.row(row) != strings.row(numbered.first_rows[id as usize] as usize);
    rows.filter(differs).map(|(row, _)| row as u32).collect()
}

/// Assigns new ids to the differing rows, in a map of their strings whose hash function has another
/// random seed. So an attacker who knows the seed of the first hash cannot make it slow.
fn separate(numbered: &mut Numbered, strings: &dyn Hashed, differing: &[u32]) {
    let Numbered { ids, counts, first_rows, sharing, .. } = numbered;
    let of_hashes = first_rows.len() as u32;
    let mut others: HashMap<&[u8], u32> = HashMap::new();
    for &row in differing {
        let next = first_rows.len() as u32;
        let id = *others.entry(strings.row(row as usize)).or_insert(next);
        if id == next {
            first_rows.push(row);
            counts.push(0);
        }
        let before = std::mem::replace(&mut ids[row as usize], id);
        counts[before as usize] -= 1;
        counts[id as usize] += 1;
    }
    // Ids are put in the order of first appearance again.
    let mut order: Vec<u32> = (0..first_rows.len() as u32).collect();
    order.sort_unstable_by_key(|&id| first_rows[id as usize]);
    let mut new_ids = vec![0; order.len()];
    order.iter().zip(0..).for_each(|(&id, new_id)| new_ids[id as usize] = new_id);
    ids.par_iter_mut().with_min_len(MIN_ROWS).for_each(|id| *id = new_ids[*id as usize]);
    *first_rows = order.iter().map(|&id| first_rows[id as usize]).collect();
    *counts = order.iter().map(|&id| counts[id as usize]).collect();
    *sharing = order.iter().zip(0..).filter(|(id, _)| **id >= of_hashes).map(|(_, new_id)| new_id).collect();
}
