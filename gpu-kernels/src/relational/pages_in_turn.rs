//! The page of a bin's groups, by one thread.

use super::group_page::{GroupPage, Seeker, Wanted};
use super::pages::{GroupPages, MAX_STEPS, Rows};
use crate::page::header;
use crate::page::pairs::AT_ONCE;
use crate::seam::{Shared, Work};
use crate::types::{KeyWord, Payload};

/// A bin, whose rows one thread aggregates, and whose groups it writes.
pub(super) struct GroupInTurn<'a, K: KeyWord, V: Payload, S> {
    pub args: &'a GroupPages<K, V>,
    pub rows: Rows<K, V>,
    pub page: GroupPage<S>,
}

impl<K: KeyWord, V: Payload, S: Shared<u64>> Work for GroupInTurn<'_, K, V, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { args, page, .. } = self;
        page.clear(0, 1);
        let Wanted { counts, sums, minima, maxima } = page.wanted;
        // What is constant need not be read again after every store.
        let groups = if sums && !(counts || minima || maxima) {
            let page = page.with_wanted(Wanted { counts: false, sums: true, minima: false, maxima: false });
            Self { page, ..self }.aggregate()
        } else {
            self.aggregate()
        };
        let Some(groups) = groups else {
            args.header.atomic(header::FAILED).fetch_add(1);
            return;
        };
        let mut target = args.header.atomic(header::LENGTH).fetch_add(groups as u64);
        for slot in 0..page.slots() {
            if let Some(mixed) = page.mixed(slot) {
                args.write(target, mixed, (&page, slot), GroupPage::sum_in_turn);
                target += 1;
            }
        }
    }
}

impl<K: KeyWord, V: Payload, S: Shared<u64>> GroupInTurn<'_, K, V, S> {
    /// Adds all rows to their groups. Returns the number of groups, if there are slots for all.
    #[inline(always)]
    fn aggregate(self) -> Option<u32> {
        let (rows, page) = (self.rows, self.page);
        let (mut groups, mut row) = (0, 0);
        while row < rows.count {
            let here = (rows.count - row).min(AT_ONCE as u32);
            let (mut mixed, values) = rows.pairs.load_many(rows.first + row as u64, here, !rows.split);
            if !rows.split {
                for key in &mut mixed {
                    *key = key.mixed(rows.a, rows.b);
                }
            }
            let mut seekers = [Seeker::<K>::absent(); AT_ONCE];
            for i in 0..AT_ONCE {
                seekers[i] = page.seek(mixed[i]);
            }
            for i in 0..here as usize {
                if !rows.split && !page.has(mixed[i]) {
                    continue;
                }
                let (mut seeker, mut steps) = (seekers[i], 0);
                while seeker.pending() {
                    if steps == MAX_STEPS {
                        return None;
                    }
                    groups += page.step(&mut seeker) as u32;
                    steps += 1;
                }
                page.add_in_turn::<V>(seeker.slot, values[i]);
            }
            row += here;
        }
        Some(groups)
    }
}
