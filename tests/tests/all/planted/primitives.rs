//! The results of primitives after any kind of failure of any device operation.

use warpnest::primitives::{
    BitField, Scratch, compact, exclusive_scan, inclusive_scan, partition_pairs, sort_keys, sort_pairs,
    unique_of_sorted,
};
use warpnest::{Buffer, Result};
use warpnest_tests::planted::Operation::{Allocate, Copy, Download, Fill, Launch, Record, Wait};
use warpnest_tests::planted::{SINGLE_FAULTS, all_failed, in_each_operation, is_planted, planted};

#[test]
fn a_primitive_that_fails_can_be_repeated_with_the_same_scratch() {
    let (device, plan) = planted();
    let stream = device.stream().unwrap();
    let keys: Vec<u32> = (0..5000u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    let input = Buffer::from_slice(&device, &keys).unwrap();
    let odd = Buffer::from_slice(&device, &vec![0xaaaa_aaaau32; 5000usize.div_ceil(32)]).unwrap();
    let mut sorted: Vec<u32> = keys.clone();
    sorted.sort_unstable();
    let mut distinct: Vec<u32> = sorted.iter().map(|key| key >> 21).collect();
    let in_runs = Buffer::from_slice(&device, &distinct).unwrap();
    distinct.dedup();
    let odd_keys: Vec<u32> = keys.iter().skip(1).step_by(2).copied().collect();
    let sums: Vec<u32> = keys
        .iter()
        .scan(0u32, |sum, key| {
            let before = *sum;
            *sum = sum.wrapping_add(*key);
            Some(before)
        })
        .collect();
    let with_own: Vec<u32> = sums.iter().zip(&keys).map(|(sum, key)| sum.wrapping_add(*key)).collect();
    let field = BitField { shift: 24, bits: 8 };
    let mut by_field = keys.clone();
    by_field.sort_by_key(|key| key >> 24);
    type Outputs = (Scratch, Buffer<u32>, Buffer<u32>, Buffer<u32>, Buffer<u32>);
    let begin = || -> Outputs {
        let buffer = |length| Buffer::zeroed(&device, length).unwrap();
        (Scratch::new(&device), buffer(5000), buffer(5000), buffer(1), buffer(256))
    };
    let does = |what: usize, (scratch, one, other, count, starts): &mut Outputs| -> Result<()> {
        match what {
            0 => exclusive_scan(&stream, scratch, &input, one),
            1 => compact(&stream, scratch, &input, &odd, one, count),
            2 => {
                one.copy_from(&stream, &input)?;
                other.copy_from(&stream, &input)?;
                sort_pairs(&stream, scratch, one, other)
            }
            3 => {
                one.copy_from(&stream, &input)?;
                sort_keys(&stream, scratch, one)
            }
            4 => unique_of_sorted(&stream, scratch, &in_runs, one, count),
            5 => inclusive_scan(&stream, scratch, &input, one),
            _ => partition_pairs(&stream, scratch, (&input, &input), field, (one, other), starts),
        }
    };
    for (what, expected) in
        [&sums, &odd_keys, &sorted, &sorted, &distinct, &with_own, &by_field].into_iter().enumerate()
    {
        let call = |outputs: &mut Outputs| does(what, outputs);
        let seen = in_each_operation(&plan, &SINGLE_FAULTS, begin, call, |mut outputs, done| {
            assert!(is_planted(&done.unwrap_err()));
            call(&mut outputs).unwrap();
            let found = outputs.1.download(&stream).unwrap();
            assert!(found.starts_with(expected), "primitive {what}");
        });
        all_failed(&seen, &[Allocate, Fill, Launch, Record, Wait]);
        assert_eq!(input.download(&stream).unwrap(), keys);
    }
    let mut copy = Buffer::<u32>::zeroed(&device, 5000).unwrap();
    let seen = in_each_operation(
        &plan,
        &SINGLE_FAULTS,
        || (),
        |_| input.download(&stream),
        |_, done| {
            assert!(is_planted(&done.unwrap_err()));
        },
    );
    all_failed(&seen, &[Download]);
    let (_, failed) = plan.with(SINGLE_FAULTS[0], 0, || copy.copy_from(device.default_stream(), &input).unwrap_err());
    assert_eq!(failed, [Copy]);
    copy.copy_from(&stream, &input).unwrap();
    assert_eq!(copy.download(&stream).unwrap(), keys);
}
