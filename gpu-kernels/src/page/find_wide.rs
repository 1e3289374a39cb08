//! Looking up keys in buckets of 64 bytes, by four lanes each.
//!
//! One thread that reads 64 bytes at random reaches two thirds of the rate of four that read 16
//! bytes each. So four lanes read the tags and the values of a bucket together, and need not wait
//! for the tags before they know which value to read.

use super::form::{Form, filter};
use super::{BUCKET_WORDS, Layout};
use crate::seam::{Global, Tile};
use crate::table::lookup::Lookup;
use crate::types::{Key, Payload, Scalar};

/// The lanes that answer a query together; each holds two words of its bucket.
const LANES: u32 = 4;
/// The number of queries that a warp answers at once.
const QUERIES: u32 = 32 / LANES;
/// The rounds in which a warp answers its 32 queries. The buckets of all of them are read at once.
const ROUNDS: usize = LANES as usize;
/// The lowest bit of each query's lanes in a ballot.
const FIRST_LANES: u32 = 0x1111_1111;

/// The state of a lane: for each round the query's mixed key, and two words of a bucket.
struct Probe<K, W> {
    mixed: [K; ROUNDS],
    held: [[W; 2]; ROUNDS],
}

/// The votes of a warp on the buckets of eight queries.
struct Votes {
    /// The lanes whose first word, or second one, is the tag.
    equal: [u32; 2],
    /// A query's first bit, if its key is there.
    found: u32,
    /// A query's first bit, if the bucket has what else was asked for.
    other: u32,
}

/// The bit of each query's first lane that says whether any of its lanes voted.
#[inline(always)]
fn any(votes: u32) -> u32 {
    let pairs = votes | votes >> 1;
    (pairs | pairs >> 2) & FIRST_LANES
}

/// The bits of the queries' first lanes, side by side.
#[inline(always)]
fn packed(first_lanes: u32) -> u32 {
    let pairs = (first_lanes | first_lanes >> 3) & 0x0303_0303;
    let fours = (pairs | pairs >> 6) & 0x000f_000f;
    (fours | fours >> 12) & 0xff
}

/// Answers the queries of a warp, the first of which has number `first`.
#[inline(always)]
pub(super) fn answer<F: Form, K: Key, V: Payload, L: Tile>(
    tile: &mut L,
    lookup: &Lookup<K, V::Word>,
    words: Global<K::PackedWord<V>>,
    layout: &Layout,
    first: u64,
) {
    let mut probes = tile.local(|lane| {
        let mut probe =
            Probe::<K, K::PackedWord<V>> { mixed: [K::default(); ROUNDS], held: [[Scalar::from_u64(0); 2]; ROUNDS] };
        for round in 0..ROUNDS {
            let index = index(first, round, lane);
            if index < lookup.count {
                probe.mixed[round] = lookup.queries.load_streaming(index).mixed(layout.a, layout.b);
                let home = probe.mixed[round].scaled(layout.buckets());
                probe.held[round] = words.load_pair_read_only(word_of(home, lane));
            }
        }
        probe
    });
    // Written out: the loop would not be unrolled, and the state would not be kept in registers.
    let found = [
        answer_round::<F, K, V, L>(tile, &mut probes, lookup, words, layout, (first, 0)),
        answer_round::<F, K, V, L>(tile, &mut probes, lookup, words, layout, (first, 1)),
        answer_round::<F, K, V, L>(tile, &mut probes, lookup, words, layout, (first, 2)),
        answer_round::<F, K, V, L>(tile, &mut probes, lookup, words, layout, (first, 3)),
    ];
    tile.each(&mut probes, |lane, _| {
        if lane == 0 && first < lookup.count {
            lookup.found.store(first / 32, found[0] | found[1] << 8 | found[2] << 16 | found[3] << 24);
        }
    });
}

/// Answers the queries of one round, the home buckets of which have been read. Returns a bit for
/// each that was found.
#[inline(always)]
fn answer_round<F: Form, K: Key, V: Payload, L: Tile>(
    tile: &mut L,
    probes: &mut L::Local<Probe<K, K::PackedWord<V>>>,
    lookup: &Lookup<K, V::Word>,
    words: Global<K::PackedWord<V>>,
    layout: &Layout,
    (first, round): (u64, usize),
) -> u32 {
    // At home a filter bit tells whether to go on.
    let votes = vote::<F, K, V, L>(tile, probes, layout, round, 0, |held, lane, remainder| {
        let (word, bit) = filter::<F, K::PackedWord<V>>(remainder);
        // A mask for each word: a choice between the words would put them into local memory.
        let mask = |number: u32| if word == lane % LANES * 2 + number { bit } else { Scalar::from_u64(0) };
        held[0] & mask(0) | held[1] & mask(1) != Scalar::from_u64(0)
    });
    store::<F, K, V, L>(tile, probes, lookup, first, round, &votes);
    let (mut found, mut pending) = (votes.found, votes.other & !votes.found);
    // A key of this class had to leave: it is in the first of its candidates that was not full.
    let mut number = 1;
    while pending != 0 && number < layout.candidates {
        tile.each(probes, |lane, probe| {
            let index = index(first, round, lane);
            if pending >> (lane / LANES * LANES) & 1 != 0 && index < lookup.count {
                let mixed = probe.mixed[round];
                let home = layout.home_in_page(mixed);
                let page_first = mixed.scaled(layout.buckets()) - home;
                let remainder = layout.remainder::<K, K::PackedWord<V>>(mixed);
                let bucket = page_first + layout.candidate(home, remainder, number);
                probe.held[round] = words.load_pair_read_only(word_of(bucket, lane));
            }
        });
        let mut votes = vote::<F, K, V, L>(tile, probes, layout, round, number, |held, lane, _| {
            has_tags::<F>(lane) && (is_empty(held[0]) || is_empty(held[1]))
        });
        // Those that are done have other buckets' words.
        let lanes = pending * ((1 << LANES) - 1);
        votes.equal = [votes.equal[0] & lanes, votes.equal[1] & lanes];
        votes.found &= pending;
        store::<F, K, V, L>(tile, probes, lookup, first, round, &votes);
        found |= votes.found;
        pending &= !(votes.found | votes.other);
        number += 1;
    }
    if F::VALUES && !lookup.values.is_null() {
        tile.each(probes, |lane, _| {
            let index = index(first, round, lane);
            if lane % LANES == 0 && found >> lane & 1 == 0 && index < lookup.count {
                lookup.values.store_streaming(index, Default::default());
            }
        });
    }
    packed(found)
}

/// The number of the query that a lane answers in a round.
#[inline(always)]
fn index(first: u64, round: usize, lane: u32) -> u64 {
    first + (round as u32 * QUERIES + lane / LANES) as u64
}

/// The number of the first word that a lane reads of a bucket.
#[inline(always)]
fn word_of(bucket: u32, lane: u32) -> u64 {
    bucket as u64 * BUCKET_WORDS as u64 + (lane % LANES * 2) as u64
}

/// Whether a lane's words are tags.
#[inline(always)]
fn has_tags<F: Form>(lane: u32) -> bool {
    lane % LANES * 2 < F::TAG_WORDS
}

/// Whether the slot of this word of tags is empty: above the tag is a filter bit.
#[inline(always)]
fn is_empty<W: Scalar>(held: W) -> bool {
    held << 1 == Scalar::from_u64(0)
}

/// Lets the lanes vote on their words of the queries' candidate `number`, and on what else is
/// asked.
#[inline(always)]
fn vote<F: Form, K: Key, V: Payload, L: Tile>(
    tile: &mut L,
    probes: &L::Local<Probe<K, K::PackedWord<V>>>,
    layout: &Layout,
    round: usize,
    number: u32,
    other: impl Fn([K::PackedWord<V>; 2], u32, K::PackedWord<V>) -> bool + Sync,
) -> Votes {
    let remainder = |probe: &Probe<K, K::PackedWord<V>>| layout.remainder::<K, K::PackedWord<V>>(probe.mixed[round]);
    let is_tag = |probe: &Probe<K, K::PackedWord<V>>, held: K::PackedWord<V>| {
        held << 1 == layout.tag(remainder(probe), number) << 1
    };
    let equal = [
        tile.ballot(probes, |lane, probe| has_tags::<F>(lane) && is_tag(probe, probe.held[round][0])),
        tile.ballot(probes, |lane, probe| has_tags::<F>(lane) && is_tag(probe, probe.held[round][1])),
    ];
    let other = tile.ballot(probes, |lane, probe| other(probe.held[round], lane, remainder(probe)));
    Votes { equal, found: any(equal[0] | equal[1]), other: any(other) }
}

/// Stores the values of the keys that were found. The lane that holds a value stores it: tags are
/// in the first two lanes, and the values in the same order in the others.
#[inline(always)]
fn store<F: Form, K: Key, V: Payload, L: Tile>(
    tile: &mut L,
    probes: &mut L::Local<Probe<K, K::PackedWord<V>>>,
    lookup: &Lookup<K, V::Word>,
    first: u64,
    round: usize,
    votes: &Votes,
) {
    if !F::VALUES || lookup.values.is_null() {
        return;
    }
    let [equal, equal_second] = votes.equal;
    tile.each(probes, |lane, probe| {
        // The votes of the lane whose tags belong to this lane's values.
        let Some(tags_lane) = lane.checked_sub(F::TAG_WORDS / 2) else { return };
        let index = index(first, round, lane);
        if has_tags::<F>(lane) || index >= lookup.count {
            return;
        }
        let held = probe.held[round];
        if equal >> tags_lane & 1 != 0 {
            lookup.values.store_streaming(index, Scalar::from_u64(held[0].to_u64()));
        } else if equal_second >> tags_lane & 1 != 0 {
            lookup.values.store_streaming(index, Scalar::from_u64(held[1].to_u64()));
        }
    });
}
