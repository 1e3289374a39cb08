//! Work of the host on all cores: columns, what the rows of each group give, and counts.

use bytemuck::Zeroable;
use std::thread::{available_parallelism, scope};

/// Returns the number of items of a core, if all cores share `items` items.
pub fn share(items: usize) -> usize {
    items.div_ceil(available_parallelism().map_or(1, usize::from)).max(1)
}

/// Returns a column with the value of each of `rows` rows.
pub fn column<T: Zeroable + Copy + Send>(rows: usize, value: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut column = vec![T::zeroed(); rows];
    scope(|scope| {
        for (part, first) in column.chunks_mut(share(rows)).zip((0..).step_by(share(rows))) {
            let value = &value;
            scope.spawn(move || part.iter_mut().zip(first..).for_each(|(item, row)| *item = value(row)));
        }
    });
    column
}

/// Returns what `add` makes of each group, which is `start` at first, by adding its rows in their
/// order. `rows` has the id of the group of each row, below `groups`.
///
/// Each core reads the ids of all rows, and adds only the rows of its own groups. So no two cores
/// write to one group, however frequent it is.
pub fn of_groups<T: Clone + Send>(rows: &[u32], groups: u64, start: T, add: impl Fn(&mut T, usize) + Sync) -> Vec<T> {
    let mut made = vec![start; groups as usize];
    let of_core = share(made.len());
    scope(|scope| {
        for (part, first) in made.chunks_mut(of_core).zip((0..).step_by(of_core)) {
            let add = &add;
            scope.spawn(move || {
                for (row, &group) in rows.iter().enumerate() {
                    if let Some(group) = part.get_mut((group as usize).wrapping_sub(first)) {
                        add(group, row);
                    }
                }
            });
        }
    });
    made
}

/// Returns how many of `items` items are of a kind.
pub fn count(items: usize, is_of_kind: impl Fn(usize) -> bool + Sync) -> u64 {
    scope(|scope| {
        let parts = (0..items).step_by(share(items)).map(|first| {
            let (is_of_kind, end) = (&is_of_kind, items.min(first + share(items)));
            scope.spawn(move || (first..end).filter(|&item| is_of_kind(item)).count() as u64)
        });
        let parts: Vec<_> = parts.collect();
        parts.into_iter().map(|part| part.join().expect("the count does not panic")).sum()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_all_cores_are_joined() {
        for rows in [0, 1, 7, 1000] {
            assert_eq!(column(rows, |row| row as u64 + 1), (1..=rows as u64).collect::<Vec<_>>());
            assert_eq!(count(rows, |row| row % 3 == 1), (rows as u64 + 1) / 3);
        }
    }

    #[test]
    fn each_group_has_its_rows_in_their_order() {
        let ids: Vec<u32> = (0..1000).map(|row| row * row % 7).collect();
        for groups in [7, 9, 100] {
            let found = of_groups(&ids, groups, Vec::new(), |rows, row| rows.push(row));
            let of = |group| ids.iter().enumerate().filter(move |&(_, &id)| id as u64 == group).map(|(row, _)| row);
            assert_eq!(found, (0..groups).map(|group| of(group).collect()).collect::<Vec<Vec<usize>>>());
        }
    }
}
