//! Batches of insertions and removals in the first pages of tables of every form, directly and page
//! by page. Tables that are small enough for every engine do not have all forms.

use super::small_pages::{narrow, pairs, value, wide};
use gpu_kernels::page::{Layout, header};
use gpu_kernels::types::Payload;
use std::collections::HashMap;
use warpnest::Device;
use warpnest::types::WordKey as Key;
use warpnest_tests::changing::steps::without;
use warpnest_tests::page_batches::Way;
use warpnest_tests::page_checker::{pairs_of_pages, same_pairs};
use warpnest_tests::pages::Pages;
use warpnest_tests::{at, on_all, parameterized};

/// The largest share of the slots that is taken, in percent.
const LOAD: usize = 80;

/// The ways of the batches of insertions and of removals, one after the other.
const WAYS: [(Way, Way); 8] = [
    (Way::Directly, Way::Directly),
    (Way::Directly, Way::Directly),
    (Way::ByPages, Way::Directly),
    (Way::ByPages, Way::ByPages),
    (Way::ByPagesInOrder, Way::Directly),
    (Way::ByPagesInOrder, Way::Directly),
    (Way::ByPages, Way::ByPages),
    (Way::Directly, Way::ByPages),
];

/// Checks all words of the pages, and lookups of keys.
fn check<K: Key, V: Payload>(
    device: &Device,
    pages: &Pages<K, V>,
    reference: &HashMap<K, V::Word>,
    keys: &[K],
) -> Result<(), String> {
    let said = |error: warpnest::Error| error.to_string();
    let words = pages.words.download(device.default_stream()).map_err(said)?;
    same_pairs(&pairs_of_pages::<K, V>(&pages.layout, &words, pages.pages())?, reference)?;
    let expected: Vec<Option<V::Word>> = keys.iter().map(|key| reference.get(key).copied()).collect();
    match pages.find(device, keys).map_err(said)? {
        answers if answers == expected => Ok(()),
        _ => Err("the answers differ".to_owned()),
    }
}

/// Fills two pages, and repeatedly adds and removes a part of their pairs.
fn come_and_go<K: Key, V: Payload>(device: &Device, layout: Layout) {
    let _at = at(format!("{} slots, {} candidates, on {}", layout.slots, layout.candidates, device.name()));
    let n = (layout.page_buckets * layout.slots) as usize * LOAD / 100;
    let of_pages = [0, 1].map(|page| pairs::<K, V>(&layout, page, n + n / 2, 7 + page as u64));
    let keys: Vec<K> = of_pages.iter().flatten().map(|pair| pair.0).collect();
    let first = of_pages.clone().map(|pairs| pairs[..n / 2].to_vec());
    let mut pages = Pages::<K, V>::build(device, layout, &first, false).unwrap();
    let mut reference: HashMap<K, V::Word> = first.iter().flatten().copied().collect();
    check(device, &pages, &reference, &keys).unwrap();
    for (round, (add, remove)) in WAYS.into_iter().enumerate() {
        let _at = at(format!("round {round}"));
        // On a GPU, pairs are added in order only to pages without holes.
        if add == Way::ByPagesInOrder && pages.layout.holes != 0 && V::VALUE_BITS != 0 {
            pages.remove(device, Way::ByPages, &[]).unwrap();
        }
        // The batch has two thirds of the keys, some of which are present, but no more new keys
        // than the load allows.
        let mut there = [0, 1].map(|page| of_pages[page].iter().filter(|pair| reference.contains_key(&pair.0)).count());
        let mut batch = Vec::new();
        for (page, pairs) in of_pages.iter().enumerate() {
            for (i, (key, _)) in pairs.iter().enumerate().filter(|(i, _)| (i + round) % 3 != 0) {
                let is_new = !reference.contains_key(key);
                if !is_new || there[page] < n {
                    there[page] += is_new as usize;
                    batch.push((*key, value::<V>((round * 1000 + i) as u64 * 0x1_0000_0001)));
                }
            }
        }
        let new = batch.iter().filter(|pair| !reference.contains_key(&pair.0)).count();
        let found = pages.add(device, add, &batch).unwrap();
        assert_eq!(found[header::FAILED as usize], 0, "a page could not take its pairs");
        assert_eq!(found[header::LENGTH as usize], new as u64);
        reference.extend(batch);
        check(device, &pages, &reference, &keys).unwrap_or_else(|wrong| panic!("added {add:?}: {wrong}"));

        let gone: Vec<K> = keys.iter().copied().skip(round % 2).step_by(2).collect();
        let there: Vec<_> = gone.iter().map(|key| reference.get(key).copied()).collect();
        let removed = pages.remove(device, remove, &gone).unwrap();
        assert_eq!(removed.header[header::LENGTH as usize], there.iter().flatten().count() as u64);
        if remove == Way::Directly {
            assert!(removed.answers == there, "the answers differ");
        }
        without(&mut reference, &gone);
        check(device, &pages, &reference, &keys).unwrap_or_else(|wrong| panic!("removed {remove:?}: {wrong}"));
    }
}

/// Adds batches to a page until it cannot take one; before that, pairs are evicted. If the batches
/// go page by page, each pair is in its batch three times.
fn fill_up<K: Key, V: Payload>(device: &Device, layout: Layout) {
    let slots = (layout.page_buckets * layout.slots) as usize;
    let all = pairs::<K, V>(&layout, 0, slots + slots / 8, 11);
    let keys: Vec<K> = all.iter().map(|pair| pair.0).collect();
    for way in [Way::Directly, Way::ByPages, Way::ByPagesInOrder] {
        let _at =
            at(format!("{way:?}, {} slots, {} candidates, on {}", layout.slots, layout.candidates, device.name()));
        let first = [all[..slots / 2].to_vec()];
        let mut pages = Pages::<K, V>::build(device, layout, &first, false).unwrap();
        let mut reference: HashMap<K, V::Word> = all[..slots / 2].iter().copied().collect();
        for batch in all[slots / 2..].chunks(slots.div_ceil(14)) {
            let copies = if way == Way::Directly { 1 } else { 3 };
            let found = pages.add(device, way, &batch.repeat(copies)).unwrap();
            if found[header::FAILED as usize] != 0 {
                break;
            }
            assert_eq!(found[header::LENGTH as usize], batch.len() as u64);
            reference.extend(batch.iter().copied());
            check(device, &pages, &reference, &keys).unwrap();
        }
        assert!(reference.len() >= slots * 4 / 5, "only {} of {slots} slots could be taken", reference.len());
        assert!(reference.len() < all.len(), "more pairs than slots were taken");
    }
}

/// Adds so many keys to a page, and removes so many, that each thread of a block processes several.
fn many_at_once<K: Key, V: Payload>(device: &Device, page_bits: u32) {
    let layout = Layout::new::<K, V>(0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, page_bits, 604);
    let _at = at(format!("{} slots, {} candidates, on {}", layout.slots, layout.candidates, device.name()));
    // At higher loads the list of pairs whose home is full can overflow, and then the page fails.
    let n = (layout.page_buckets * layout.slots) as usize * 7 / 10;
    let all = pairs::<K, V>(&layout, 0, n, 13);
    let keys: Vec<K> = all.iter().map(|pair| pair.0).collect();
    for way in [Way::ByPages, Way::ByPagesInOrder] {
        let _at = at(format!("{way:?}"));
        let mut pages = Pages::<K, V>::build(device, layout, &[all[..n / 20].to_vec()], false).unwrap();
        let found = pages.add(device, way, &all).unwrap();
        assert_eq!((found[header::FAILED as usize], found[header::LENGTH as usize]), (0, (n - n / 20) as u64));
        check(device, &pages, &all.iter().copied().collect(), &keys).unwrap();
        let removed = pages.remove(device, Way::ByPages, &keys[n / 30..]).unwrap();
        assert_eq!(removed.header[header::LENGTH as usize], (n - n / 30) as u64);
        check(device, &pages, &all[..n / 30].iter().copied().collect(), &keys).unwrap();
    }
}

#[parameterized]
fn many_pairs_come_and_go_at_once(device: &Device) {
    use gpu_kernels::types::Nothing;
    for page_bits in [0, 10, 16] {
        many_at_once::<u32, u32>(device, page_bits);
        many_at_once::<u32, Nothing>(device, page_bits);
    }
    many_at_once::<u32, u64>(device, 3);
    many_at_once::<u64, u32>(device, 3);
    many_at_once::<u64, u64>(device, 3);
    many_at_once::<u64, Nothing>(device, 3);
}

fn of_every_form<V: Payload>() {
    on_all(|device| narrow::<V>().iter().for_each(|&(layout, _)| fill_up::<u32, V>(device, layout)));
    on_all(|device| narrow::<V>().iter().for_each(|&(layout, _)| come_and_go::<u32, V>(device, layout)));
}

#[test]
fn pairs_of_32_bits_come_and_go_in_pages_of_every_form() {
    of_every_form::<u32>();
}

#[test]
fn keys_alone_come_and_go_in_pages_of_every_form() {
    of_every_form::<gpu_kernels::types::Nothing>();
}

#[parameterized]
fn wide_pairs_and_keys_come_and_go_in_pages(device: &Device) {
    fill_up::<u64, u64>(device, wide::<u64, u64>());
    fill_up::<u64, u32>(device, wide::<u64, u32>());
    fill_up::<u32, u64>(device, wide::<u32, u64>());
    fill_up::<u64, gpu_kernels::types::Nothing>(device, wide::<u64, gpu_kernels::types::Nothing>());
    come_and_go::<u64, u64>(device, wide::<u64, u64>());
    come_and_go::<u64, u32>(device, wide::<u64, u32>());
    come_and_go::<u32, u64>(device, wide::<u32, u64>());
    come_and_go::<u64, gpu_kernels::types::Nothing>(device, wide::<u64, gpu_kernels::types::Nothing>());
}
