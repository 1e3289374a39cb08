//! Errors that a user of every map that changes in place can cause.

use super::Changing;
use crate::maps::{equals, refuses_another_device};
use crate::{assert_wrong_device, distinct_keys, elsewhere};
use std::collections::HashMap;
use warpnest::design::BulkMap;
use warpnest::{Answers, Buffer, Error};

/// Checks that batches of `n` keys with another device's stream or buffer are refused and leave the
/// map as it was.
pub fn what_belongs_to_another_device_is_refused(map: &mut BulkMap<u32, u32, impl Changing>, n: usize) {
    let (here, there) = (&map.device().clone(), &elsewhere());
    let (stream, foreign) = (here.default_stream(), there.default_stream());
    let before: HashMap<u32, u32> = map.to_pairs().unwrap().into_iter().collect();
    let keys: Vec<u32> = distinct_keys(n, 3);
    let words = vec![0; n.div_ceil(32)];
    let of = |device| [&keys, &words].map(|elements: &Vec<u32>| Buffer::from_slice(device, elements).unwrap());
    let ([near, mask], [far, far_mask]) = (of(here), of(there));
    let (mut answers, mut far_answers) = (Answers::new(here, n).unwrap(), Answers::new(there, n).unwrap());
    let is_there = |what, error: Error| assert_wrong_device(error, what, there, here);

    is_there("the stream", map.on(foreign).unwrap_err());
    is_there("the stream", map.remove_many_into(foreign, &near, &mut answers).unwrap_err());
    is_there("the stream", map.retain_many_on(foreign, &near, &mask).unwrap_err());
    is_there("the buffer of keys", map.insert_many(&far, &near).unwrap_err());
    is_there("the buffer of keys", map.remove_many_into(stream, &far, &mut answers).unwrap_err());
    is_there("the buffer of keys", map.erase_many(&far).unwrap_err());
    is_there("the buffer of keys", map.retain_many_on(stream, &far, &mask).unwrap_err());
    is_there("the buffer of values", map.insert_many(&near, &far).unwrap_err());
    is_there("the buffer of answers", map.remove_many_into(stream, &near, &mut far_answers).unwrap_err());
    is_there("the buffer of words to keep", map.retain_many_on(stream, &near, &far_mask).unwrap_err());
    let out = |device| Buffer::zeroed(device, before.len()).unwrap();
    is_there("a buffer", map.pairs_into(stream, &mut out(there), &mut out(here)).unwrap_err());
    is_there("a buffer", map.pairs_into(stream, &mut out(here), &mut out(there)).unwrap_err());
    let error = map.pairs_into(foreign, &mut out(here), &mut out(here)).unwrap_err();
    assert_wrong_device(error, "a buffer", here, there);
    refuses_another_device(map);
    equals(map, &before);
    assert_eq!(map.device().name(), here.name());
}
