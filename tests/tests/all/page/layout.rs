//! The arithmetic of the page map's layout: mixes, homes, remainders, candidates, and tags packed
//! in words, compared with naive models.

use gpu_kernels::page::form::{Eight, Fifteen, Five, Form, Four, Six, TwentyFour, equal, filter, tag_number, tags_in};
use gpu_kernels::page::{Layout, MAX_CANDIDATES, MIN_BUCKETS, fit_page, max_page_buckets};
use gpu_kernels::types::{Nothing, Payload, Scalar};
use proptest::prelude::*;
use std::collections::HashSet;
use warpnest::types::WordKey as Key;
use warpnest_tests::{distinct_keys, parameterized};

/// Returns words with few and with many bits set, and some random words.
fn words() -> Vec<u64> {
    let powers = (0..64).flat_map(|bit| [1u64 << bit, !(1u64 << bit), (1u64 << bit) - 1]);
    powers.chain([u64::MAX, 0x5555_5555_5555_5555, 0x0123_4567_89ab_cdef]).chain(distinct_keys(100, 3)).collect()
}

#[test]
fn the_mix_and_its_inverse_undo_each_other() {
    fn with<K: Key>(key: u64, a: u64, b: u64) {
        let key = K::from_u64(key);
        assert_eq!(key.mixed(a, b).unmixed(a, b), key, "a {a:#x}, b {b:#x}");
        assert_eq!(key.unmixed(a, b).mixed(a, b), key, "a {a:#x}, b {b:#x}");
        assert_eq!(key.mix(a, b) as u64, key.mixed(a, b).to_u64() >> (K::BITS - 32));
    }
    for key in words() {
        for constant in words().into_iter().step_by(7) {
            with::<u32>(key, constant, !constant);
            with::<u64>(key, !constant, constant);
            with::<u32>(key, 0, constant);
            with::<u64>(key, constant, 0);
        }
    }
}

#[parameterized]
fn every_bit_of_a_mixed_key_depends_on_every_bit_of_the_key<K: Key>() {
    let keys: Vec<K> = distinct_keys(200, 5);
    for bit in 0..K::BITS {
        let mut changed = K::default();
        for (i, &key) in keys.iter().enumerate() {
            let (a, b) = ((i as u64).wrapping_mul(0x1357_9bdf_0246_8ace), (!(i as u64)).wrapping_mul(0x2468_ace0));
            let other = K::from_u64(key.to_u64() ^ 1 << bit);
            changed = changed | key.mixed(a, b) ^ other.mixed(a, b);
        }
        assert_eq!(changed, K::ALL_ONES, "bit {bit}");
    }
}

/// Returns a strategy for layouts with few and with many pages and buckets, whose bucket indices
/// fit a key's home.
fn layout<K: Key, V: Payload>() -> impl Strategy<Value = Layout> {
    (any::<u64>(), any::<u64>(), 0u32..=20, 16u32..=max_page_buckets::<K, V>()).prop_map(|(a, b, bits, buckets)| {
        let buckets = fit_page(buckets).min(max_page_buckets::<K, V>());
        Layout::new::<K, V>(a, b, bits, buckets)
    })
}

fn homes_and_remainders<K: Key, V: Payload>() {
    proptest!(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() }, |(
        layout in layout::<K, V>(), word in any::<u64>(), high in 0u32..64, number in 0..MAX_CANDIDATES,
    )| {
        for mixed in [word, word >> high, !(word >> high), u64::MAX, 0].map(K::from_u64) {
            let buckets = layout.buckets() as u64;
            let home = ((mixed.to_u64() as u128 * buckets as u128) >> K::BITS) as u64;
            prop_assert_eq!(mixed.scaled(layout.buckets()) as u64, home);
            let remainder = layout.remainder::<K, K::PackedWord<V>>(mixed).to_u64();
            let first = ((home as u128) << K::BITS).div_ceil(buckets as u128);
            let in_bucket = (mixed.to_u64() as u128 - first) as u64;
            let least = (1u128 << K::BITS).div_ceil(buckets as u128) as u64;
            if <K::PackedWord<V> as Scalar>::BITS == 32 {
                let within = mixed.to_u64() * buckets % (1 << 32);
                prop_assert_eq!(layout.remainders, least);
                prop_assert_eq!(remainder, (within * least) >> 32);
                prop_assert!(remainder == in_bucket || remainder == in_bucket + 1, "{} in {:?}", mixed, layout);
            } else {
                prop_assert_eq!(layout.remainders, least.next_power_of_two());
                prop_assert_eq!(remainder, mixed.to_u64() % layout.remainders);
            }
            prop_assert!(remainder < layout.remainders);
            let in_page = layout.home_in_page(mixed);
            prop_assert_eq!(in_page as u64, home % layout.page_buckets as u64);
            let page = home / layout.page_buckets as u64;
            prop_assert_eq!(page, if layout.page_bits == 0 { 0 } else { mixed.to_u64() >> (K::BITS - layout.page_bits) });
            prop_assert_eq!(layout.mixed_of::<K, K::PackedWord<V>>(home as u32, remainder), mixed);
            // The remainder and the candidate's index fit the tag, which is never the tag of an
            // empty slot.
            let number = number.min(layout.candidates - 1);
            let tag = layout.tag::<K::PackedWord<V>>(Scalar::from_u64(remainder), number);
            prop_assert!(tag != Scalar::from_u64(0));
            prop_assert_eq!(layout.untag(tag), (Scalar::from_u64(remainder), number));
            let bits = match layout.slots {
                6 | 24 => 10,
                5 | 15 => 16,
                _ => <K::PackedWord<V> as Scalar>::BITS - 1,
            };
            prop_assert!(tag.to_u64() >> bits == 0, "{:?}", layout);
            let candidate = layout.candidate(in_page, remainder, number);
            prop_assert!(candidate < layout.page_buckets);
            prop_assert_eq!(layout.home_of(candidate, remainder, number), in_page);
            if number > 1 {
                prop_assert!(candidate != in_page);
            }
        }
    });
}

#[test]
fn home_and_remainder_give_the_mixed_key_back() {
    warpnest_tests::in_all_widths!(homes_and_remainders());
    warpnest_tests::keys_alone_in_all_widths!(homes_and_remainders());
}

#[test]
fn the_first_and_the_last_mixed_key_of_every_bucket_are_found_again() {
    for (bits, page_buckets) in [(0, 20), (3, 36), (0, 1468), (9, 1468), (16, 20), (17, 268)] {
        let layout = Layout::new::<u32, u32>(1, 2, bits, page_buckets);
        let buckets = layout.buckets() as u64;
        for home in (0..buckets).step_by((buckets / 5000).max(1) as usize).chain([buckets - 1]) {
            let first = (home << 32).div_ceil(buckets);
            let last = ((home + 1) << 32).div_ceil(buckets) - 1;
            for mixed in [first, last].map(|mixed| mixed as u32) {
                let remainder: u32 = layout.remainder(mixed);
                assert_eq!(layout.mixed_of::<u32, u32>(home as u32, remainder as u64), mixed, "{layout:?}");
            }
        }
    }
}

#[test]
fn the_candidates_of_one_number_and_remainder_are_a_permutation_of_the_page() {
    for page_buckets in [20, 28, 100, 732, 1468] {
        let layout = Layout::new::<u64, u64>(1, 2, 4, page_buckets);
        for remainder in [0, 1, 2, 77, u64::MAX >> 20, 0x5555_5555] {
            for number in 0..MAX_CANDIDATES {
                let reached: HashSet<u32> =
                    (0..page_buckets).map(|home| layout.candidate(home, remainder, number)).collect();
                assert!(reached.len() == page_buckets as usize && reached.iter().all(|&bucket| bucket < page_buckets));
                let distances: HashSet<u32> = (0..page_buckets)
                    .map(|home| (layout.candidate(home, remainder, number) + page_buckets - home) % page_buckets)
                    .collect();
                // Candidate 1 is the line's other bucket, above or below the home. Every other
                // candidate has one distance from all homes.
                assert_eq!(distances.len(), if number == 1 { 2 } else { 1 });
            }
        }
    }
}

/// Checks that keys are spread over the candidates. A candidate that most keys share would be of no
/// use.
#[test]
fn candidates_elsewhere_in_the_page_are_spread_evenly() {
    let layout = Layout::new::<u32, u32>(1, 2, 4, 100);
    for number in 2..MAX_CANDIDATES {
        let mut keys = vec![0u32; 100];
        for remainder in 0..20_000u32 {
            keys[layout.candidate(30, remainder, number) as usize] += 1;
        }
        assert_eq!((keys[30], keys.iter().sum::<u32>()), (0, 20_000));
        let spread = keys.iter().filter(|&&count| (130..290).contains(&count)).count();
        assert!(spread >= 97, "candidate {number}: {keys:?}");
    }
}

#[test]
fn a_page_has_at_least_the_buckets_that_were_asked_for_and_few_more() {
    for buckets in MIN_BUCKETS..2000 {
        let fit = fit_page(buckets);
        assert!(fit >= buckets && fit < buckets + 8 && fit % 8 == 4, "{fit} buckets, {buckets} asked for");
    }
}

#[test]
fn pages_fit_their_room_and_forms_have_the_slots_that_their_tags_allow() {
    let most = [
        (max_page_buckets::<u32, u32>(), 4),
        (max_page_buckets::<u32, u64>(), 8),
        (max_page_buckets::<u64, u32>(), 8),
        (max_page_buckets::<u64, u64>(), 8),
        (max_page_buckets::<u32, Nothing>(), 4),
        (max_page_buckets::<u64, Nothing>(), 8),
    ];
    for (buckets, word_bytes) in most {
        assert!(buckets == fit_page(buckets) && buckets * 8 * word_bytes <= 48 << 10, "{buckets} buckets");
    }
    // The form or the count of candidates changes at these counts of buckets: `candidates` times
    // 2^32 / buckets, rounded up, must be below 2^10 or 2^16.
    let steps = [
        (16, 4, 7),
        (327_686, 5, 5),
        (393_241, 5, 6),
        (458_767, 5, 7),
        (21_053_762, 6, 5),
        (25_264_514, 6, 6),
        (29_417_585, 6, 7),
    ];
    for (i, &(buckets, slots, candidates)) in steps.iter().enumerate() {
        assert_eq!(Layout::form_for::<u32, u32>(buckets), (slots, candidates), "{buckets} buckets");
        if i > 0 {
            let before = (steps[i - 1].1, steps[i - 1].2);
            assert_eq!(Layout::form_for::<u32, u32>(buckets - 1), before, "{buckets} buckets less one");
        }
    }
    assert_eq!(Layout::form_for::<u32, u32>(1 << 31), (6, 7));
    // Buckets of keys alone have eight words of the same tags.
    for (buckets, slots, candidates) in steps {
        let of_keys = [(4, 8), (5, 15), (6, 24)].into_iter().find(|with_values| with_values.0 == slots).unwrap().1;
        assert_eq!(Layout::form_for::<u32, Nothing>(buckets), (of_keys, candidates), "{buckets} buckets of keys");
    }
    assert_eq!(Layout::forms::<u32, u32>(), [(6, 21_053_762), (5, 327_686), (4, 16)]);
    assert_eq!(Layout::forms::<u32, Nothing>(), [(24, 21_053_762), (15, 327_686), (8, 16)]);
    assert_eq!(Layout::forms::<u64, Nothing>(), [(24, u64::MAX), (15, u64::MAX), (8, 16)]);
    for buckets in (4..=31).map(|lg| 1u64 << lg) {
        let wide = [Layout::form_for::<u32, u64>, Layout::form_for::<u64, u32>, Layout::form_for::<u64, u64>];
        assert_eq!(wide.map(|form| form(buckets)), [(4, 7); 3]);
        assert_eq!(Layout::form_for::<u64, Nothing>(buckets), (8, 7));
    }
}

/// Returns the tags of a word, one by one.
fn tags<F: Form, W: Scalar>(word: u64, count: u32) -> Vec<u64> {
    let bits = F::tag_bits::<W>();
    (0..count).map(|tag| word >> (tag * bits) & ((1 << bits) - 1)).collect()
}

fn packed<F: Form, W: Scalar>(cases: u32) {
    let bits = F::tag_bits::<W>();
    let most = (1u64 << bits) - 1;
    // The tags are from a small set of similar values, so some are equal.
    let tag = prop_oneof![3 => Just(0u64), 3 => 1u64..4, 1 => Just(most), 1 => Just(most - 1), 2 => any::<u64>()];
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(held in [tag.clone(), tag.clone(), tag.clone()], sought in tag, above in any::<u64>())| {
        let sought = sought & most;
        for word in 0..F::TAG_WORDS {
            let count = tags_in::<F>(word);
            let mut packed = if count * bits < 64 { above << (count * bits) } else { 0 };
            for (tag, held) in held.iter().enumerate().take(count as usize) {
                packed |= (held & most) << (tag as u32 * bits);
            }
            let packed = W::from_u64(packed);
            let found = equal::<F, W>(packed, word, W::from_u64(sought));
            let expected = tags::<F, W>(packed.to_u64(), count).iter().position(|&tag| tag == sought);
            prop_assert_eq!(found != W::default(), expected.is_some());
            // Only the highest bits of tags may be set.
            let tops = (0..count).fold(0u64, |tops, tag| tops | 1 << ((tag + 1) * bits - 1));
            prop_assert_eq!(found.to_u64() & !tops, 0);
            if let Some(lowest) = expected {
                prop_assert_eq!(tag_number::<F, W>(found), lowest as u32);
            }
        }
    });
}

#[test]
fn an_equal_tag_is_found_as_one_by_one() {
    packed::<Six, u32>(20_000);
    packed::<Five, u32>(20_000);
    packed::<Four, u32>(5_000);
    packed::<Four, u64>(5_000);
    packed::<TwentyFour, u32>(5_000);
    packed::<Fifteen, u32>(5_000);
    packed::<Eight, u64>(2_000);
}

#[parameterized(<Six, u32>, <Five, u32>, <Four, u32>, <Four, u64>, <TwentyFour, u32>, <Fifteen, u32>, <Eight, u32>, <Eight, u64>)]
fn tags_and_filter_bits_fill_the_words_without_overlap<F: Form, W: Scalar>() {
    let mut used = vec![0u64; F::TAG_WORDS as usize];
    let (mut slots, bits) = (0, F::tag_bits::<W>());
    for word in 0..F::TAG_WORDS {
        let count = tags_in::<F>(word);
        slots += count;
        assert!(count <= F::TAGS && count * bits <= W::BITS);
        used[word as usize] = (1u128 << (count * bits)).wrapping_sub(1) as u64;
    }
    assert_eq!((slots, F::TAG_WORDS + if F::VALUES { slots } else { 0 } <= 8), (F::SLOTS, true));
    assert!(F::VALUES || F::TAG_WORDS == 8, "words of no use");
    for class in 0..F::CLASSES {
        let (word, bit) = F::filter::<W>(class);
        assert!(bit < W::BITS);
        assert_eq!(used[word as usize] >> bit & 1, 0, "class {class}");
        used[word as usize] |= 1 << bit;
        for remainder in [class, class + F::CLASSES, class + 64 * F::CLASSES] {
            let (found, mask) = filter::<F, W>(W::from_u64(remainder as u64));
            assert_eq!((found, mask.to_u64()), (word, 1 << bit), "remainder {remainder}");
        }
    }
    // Every bit has exactly one use.
    assert!(used.iter().all(|&bits| bits == W::ALL_ONES.to_u64()), "{used:x?}");
}
