//! The page of a bin's groups, built by one CPU thread.

use super::aggregates::Wanted;
use super::bin::{Groups, MAX_STEPS, Rows};
use super::bin_table::{GroupPage, NO_SLOT};
use super::columns::each_on_chip;
use crate::page::header;
use crate::seam::{Global, Shared, Work};
use crate::split::pairs::AT_ONCE;
use crate::types::{KeyWord, Row};

/// The work of one thread that aggregates the rows of a bin and writes its groups.
pub(super) struct GroupInTurn<K: KeyWord, V: Row, S> {
    pub rows: Rows<K, V>,
    pub page: GroupPage<S>,
    pub groups: Groups<K, V>,
    pub header: Global<u64>,
}

impl<K: KeyWord, V: Row, S: Shared<u32>> Work for GroupInTurn<K, V, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let page = self.page;
        page.clear(0, 1);
        let Wanted { counts, sums, minima, maxima } = page.wanted;
        // Words that are known to be constant need not be read again after every store.
        let found =
            if sums && !(counts || minima || maxima) { self.aggregate(page.of_sums()) } else { self.aggregate(page) };
        let Some(found) = found else {
            self.header.atomic(header::FAILED).fetch_add(1);
            return;
        };
        let mut target = self.header.atomic(header::LENGTH).fetch_add(found as u64);
        for slot in 0..page.slots() {
            let held: K = page.held(slot);
            if held != K::default() {
                self.groups.write(target, page.mixed(held), &page, slot);
                target += 1;
            }
        }
    }
}

impl<K: KeyWord, V: Row, S: Shared<u32>> GroupInTurn<K, V, S> {
    /// Adds all rows to their groups in the page. Returns the count of groups, or `None` if there
    /// are not enough slots.
    #[inline(always)]
    fn aggregate(&self, page: GroupPage<S>) -> Option<u32> {
        let rows = self.rows;
        let (mut groups, mut row) = (0, 0);
        while row < rows.count {
            let here = (rows.count - row).min(AT_ONCE as u32);
            let (mut mixed, values) = rows.pairs.load_many(rows.first + row as u64, here, !rows.split);
            if !rows.split {
                for key in &mut mixed {
                    *key = key.mixed(rows.a, rows.b);
                }
            }
            let (mut homes, mut slots) = ([0; AT_ONCE], [NO_SLOT; AT_ONCE]);
            for i in 0..AT_ONCE {
                homes[i] = page.home(page.held_for(mixed[i]));
            }
            for i in 0..here as usize {
                if !rows.split && !page.has(mixed[i]) {
                    continue;
                }
                let held = page.held_for(mixed[i]);
                let (mut slot, mut steps) = (homes[i], 0);
                // At most `MAX_STEPS` steps.
                loop {
                    let look = page.look(held, slot, page.seen(slot));
                    groups += look.took as u32;
                    if look.slot != NO_SLOT {
                        break;
                    }
                    steps += 1;
                    slot = match steps {
                        1 => page.second(held),
                        MAX_STEPS => return None,
                        _ => page.next(held, slot),
                    };
                }
                slots[i] = page.copy(slot, i as u32);
                page.chip.add_in_turn::<V>(slots[i], values[i]);
            }
            if V::IS_LIST {
                each_on_chip!((column, own) in self.groups.columns, after page.chip => {
                    for i in 0..here as usize {
                        if slots[i] != NO_SLOT {
                            column.add_in_turn(&own, slots[i], rows.first + (row + i as u32) as u64);
                        }
                    }
                });
            }
            row += here;
        }
        Some(groups)
    }
}
