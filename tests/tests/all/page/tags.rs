//! The check of the tags of a table that is read from a file. It accepts the tags that insertions
//! make, and finds all other tags.

use super::small_pages::{narrow, wide};
use gpu_kernels::page::{BUCKET_WORDS, CheckParams, CheckTags, Layout};
use gpu_kernels::types::{Nothing, Payload, Scalar};
use warpnest::types::WordKey as Key;
use warpnest::{Buffer, Device};
use warpnest_tests::{TestEngine, parameterized};

/// The count of buckets that have words: the buckets of two blocks.
const BUCKETS: usize = 512;

/// Returns the count of pairs in some buckets, and the count of wrong tags.
fn counted<K: Key, V: Payload>(device: &Device, layout: Layout, words: &[K::PackedWord<V>]) -> [u64; 2] {
    let stream = device.default_stream();
    let words: Vec<u64> = match <K::PackedWord<V> as Scalar>::BITS {
        64 => words.iter().map(|word| word.to_u64()).collect(),
        _ => words.chunks(2).map(|two| two[0].to_u64() | two[1].to_u64() << 32).collect(),
    };
    let words = Buffer::<u64>::from_slice(device, &words).unwrap();
    let mut counts = Buffer::<u64>::zeroed(device, 2).unwrap();
    // SAFETY: all buckets that have a thread have words.
    unsafe {
        let launched = stream.launch(BUCKETS, |uses| CheckTags::<K, V> {
            words: uses.read(&words).cast(),
            counts: uses.write(&mut counts),
            plan: CheckParams { layout },
        });
        launched.unwrap();
    }
    let counts = counts.download(stream).unwrap();
    [counts[0], counts[1]]
}

/// Writes right and wrong tags to slots of a table with this layout. Bits that belong to no tag are
/// set.
fn tags_are_told_apart<K: Key, V: Payload>(device: &Device, layout: Layout) {
    let slots = layout.slots as usize;
    let in_word = match (<K::PackedWord<V> as Scalar>::BITS, layout.slots) {
        (32, 6 | 24) => 3,
        (32, 5 | 15) => 2,
        _ => 1,
    };
    let bits = [<K::PackedWord<V> as Scalar>::BITS - 1, 16, 10][in_word - 1];
    let tag_words = slots.div_ceil(in_word);
    // Values may have any bits; an empty slot has tag 0.
    let packed = |tag_of: &dyn Fn(usize, usize) -> u64| -> Vec<K::PackedWord<V>> {
        let word_of = |bucket: usize, word: usize| {
            let tags = (word * in_word..slots.min((word + 1) * in_word)).map(|slot| tag_of(bucket, slot));
            let held = tags.enumerate().fold(0, |held, (i, tag)| held | tag << (i as u32 * bits));
            let used = (slots - word * in_word).min(in_word) as u32 * bits;
            Scalar::from_u64(held | u64::MAX.checked_shl(used).unwrap_or(0))
        };
        let words = 0..BUCKETS * BUCKET_WORDS as usize;
        let word = |at: usize| (at / BUCKET_WORDS as usize, at % BUCKET_WORDS as usize);
        let any = K::PackedWord::<V>::ALL_ONES;
        words.map(word).map(|(bucket, at)| if at < tag_words { word_of(bucket, at) } else { any }).collect()
    };
    let what = format!("{layout:?} on {}", device.name());
    let check = |tag_of: &dyn Fn(usize, usize) -> u64, expected: [usize; 2]| {
        let expected = expected.map(|count| count as u64);
        assert_eq!(counted::<K, V>(device, layout, &packed(tag_of)), expected, "{what}");
    };
    let most = layout.remainders * layout.candidates as u64;
    // A small table has fewer buckets.
    let buckets = BUCKETS.min(layout.buckets() as usize);
    let all = buckets * slots;
    check(&|_, _| 0, [0, 0]);
    check(&|_, _| most, [all, 0]);
    // Each candidate has its smallest remainder, and then its largest.
    check(&|bucket, slot| (bucket + slot) as u64 % layout.candidates as u64 * layout.remainders + 1, [all, 0]);
    check(&|bucket, slot| ((bucket + slot) as u64 % layout.candidates as u64 + 1) * layout.remainders, [all, 0]);
    check(&|bucket, slot| if (bucket + slot) % 2 == 0 { 0 } else { 1 }, [all / 2, 0]);
    if most == (1 << bits) - 1 {
        return;
    }
    let largest = (1 << bits) - 1;
    check(&|_, _| largest, [all, all]);
    for slot in 0..slots {
        let bucket = (31 * slot + 7) % buckets;
        let tag = if slot % 2 == 0 { most + 1 } else { largest };
        check(&|at, in_bucket| if (at, in_bucket) == (bucket, slot) { tag } else { 0 }, [1, 1]);
        check(&|at, in_bucket| if (at, in_bucket) == (bucket, slot) { tag } else { most }, [all, 1]);
    }
}

#[parameterized]
fn tags_that_no_insertion_makes_are_counted_in_every_form(engine: &TestEngine) {
    let device = &engine.device;
    narrow::<u32>().into_iter().for_each(|(layout, _)| tags_are_told_apart::<u32, u32>(device, layout));
    narrow::<Nothing>().into_iter().for_each(|(layout, _)| tags_are_told_apart::<u32, Nothing>(device, layout));
    tags_are_told_apart::<u32, u64>(device, wide::<u32, u64>());
    tags_are_told_apart::<u64, u32>(device, wide::<u64, u32>());
    tags_are_told_apart::<u64, u64>(device, wide::<u64, u64>());
    tags_are_told_apart::<u64, Nothing>(device, wide::<u64, Nothing>());
}
