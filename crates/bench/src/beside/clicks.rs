//! The comparison of a log of clicks by user with a `HashMap`: events, first and last page, and the
//! number of different pages.

use anyhow::{Result, ensure};
use hashbrown::{HashMap, HashSet};
use warpnest::Device;
use warpnest::primitives::Scratch;
use warpnest::relational::{Aggregate, GroupBy, Groups, Order};

use super::lab::{Hasher, Lab};
use super::record::Comparison;
use super::timing::{timed, timed_with_drop};
use crate::bench::group_by::groups_of_rows;
use crate::bench::input::{key, shuffle};

/// The number of pages.
const PAGES: u64 = 5000;
/// The exponents of the Zipf distributions of pages and of users.
const SKEWS: [f64; 2] = [1.1, 0.5];

/// The user and the page of each event, in the order of time.
struct Log {
    users: Vec<u32>,
    pages: Vec<u32>,
}

/// The summary of a user's events.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct User {
    events: u32,
    first: u32,
    last: u32,
    /// The number of different pages.
    pages: u32,
}

impl Log {
    /// Makes a log with 10.5 events a user.
    fn new(events: u64) -> Self {
        let of_ids = |ids: Vec<u32>| -> Vec<u32> { ids.into_iter().map(|id| key(u64::from(id))).collect() };
        let mut users = of_ids(groups_of_rows(events, (2 * events / 21).max(1), Some(SKEWS[1])));
        // The ranks of pages and users are drawn by the same random numbers.
        shuffle(&mut users);
        Self { users, pages: of_ids(groups_of_rows(events, PAGES, Some(SKEWS[0]))) }
    }

    fn events(&self) -> impl Iterator<Item = (u32, u32)> {
        self.users.iter().copied().zip(self.pages.iter().copied())
    }
}

/// Compares summaries of all users of a log, from one entry of a map for each event.
pub fn users<S: Hasher>(lab: &Lab<'_>) -> Result<Vec<Comparison>> {
    let (mut rows, names) = (Vec::new(), ["group-by", "users of a log of clicks", "HashMap entries"]);
    if !lab.wants(names[0], names[1]) {
        return Ok(rows);
    }
    let log = Log::new(lab.n);
    let expected = by_map::<S>(&log);
    let mut ours = || {
        let (time, found) = timed(|| by_query(&lab.device, &log));
        let found = found?;
        ensure!(found.as_map::<S>(&lab.device)? == expected, "our users differ from the map's");
        Ok(time + timed_with_drop(|| found))
    };
    let mut theirs = || {
        let (time, found) = timed(|| by_map::<S>(&log));
        ensure!(found.len() == expected.len(), "{} users, not {}", found.len(), expected.len());
        Ok(time + timed_with_drop(|| found))
    };
    lab.row(&mut rows, names, &mut ours, &mut theirs)?;
    Ok(rows)
}

/// Returns the summaries by one pass over the log. One set for the pages of all users is faster
/// than a set for each user.
fn by_map<S: Hasher>(log: &Log) -> HashMap<u32, User, S> {
    let mut users = HashMap::<u32, User, S>::default();
    let mut seen = HashSet::<(u32, u32), S>::default();
    for (user, page) in log.events() {
        let of_user = users.entry(user).or_insert(User { events: 0, first: page, last: page, pages: 0 });
        of_user.events += 1;
        of_user.last = page;
        of_user.pages += u32::from(seen.insert((user, page)));
    }
    users
}

/// The summaries of all users in the order of their keys.
struct Users {
    groups: Groups<u32>,
    /// The count of events, first page, last page and count of different pages.
    columns: [Aggregate<u32>; 4],
}

/// Returns the summaries by one query.
fn by_query(device: &Device, log: &Log) -> warpnest::Result<Users> {
    let mut query = GroupBy::new(&log.users);
    let (first, last) = (query.first(&log.pages), query.last(&log.pages));
    let columns = [query.count(), first, last, query.count_distinct(&log.pages)];
    query.order(Order::ByKey).seed(1);
    let groups = query.run_on(device.default_stream(), &mut Scratch::new(device))?;
    Ok(Users { groups, columns })
}

impl Users {
    fn as_map<S: Hasher>(&self, device: &Device) -> Result<HashMap<u32, User, S>> {
        let stream = device.default_stream();
        let keys = self.groups.keys().download(stream)?;
        let columns = self.columns.map(|one| anyhow::Ok(self.groups.column(one)?.download(stream)?));
        let [count, first, last, pages] = columns;
        let (count, first, last, pages) = (count?, first?, last?, pages?);
        let user = |at: usize| User { events: count[at], first: first[at], last: last[at], pages: pages[at] };
        Ok(keys.into_iter().enumerate().map(|(at, key)| (key, user(at))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashbrown::DefaultHashBuilder;

    #[test]
    fn both_sides_summarize_a_log_of_few_events() {
        let log = Log { users: vec![7, 3, 7, 7, 3, 9], pages: vec![1, 5, 2, 1, 5, 1] };
        let user = |events, first, last, pages| User { events, first, last, pages };
        let expected = HashMap::from_iter([(7, user(3, 1, 1, 2)), (3, user(2, 5, 5, 1)), (9, user(1, 1, 1, 1))]);
        let device = Device::cpu();
        let found = by_query(&device, &log).unwrap().as_map::<DefaultHashBuilder>(&device).unwrap();
        assert_eq!(found, expected);
        assert_eq!(by_map::<DefaultHashBuilder>(&log), expected);
    }

    #[test]
    fn a_log_has_the_users_and_pages_that_are_asked_for() {
        let log = Log::new(21_000);
        let [users, pages] = [&log.users, &log.pages].map(|column| column.iter().collect::<HashSet<_>>().len() as u64);
        assert!((1500..=2000).contains(&users) && pages <= PAGES, "{users} users, {pages} pages");
        // Each user has several pages, since users and pages are drawn independently.
        let of_users = by_map::<DefaultHashBuilder>(&log);
        let different: u32 = of_users.values().map(|user| user.pages).sum();
        assert!(different > 10_000, "{different} pairs");
    }
}
