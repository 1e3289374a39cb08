//! Keys of several columns of words and texts: their hashes, and the comparison of pairs of rows.

use proptest::prelude::*;
use std::collections::HashMap;
use warpnest::error::InputError;
use warpnest::primitives::Scratch;
use warpnest::relational::{NO_ROW, TextColumn, WideKeys};
use warpnest::relational::{flag_equal_rows, hash_rows, hash_rows_into, hash_rows_on, retain_equal_rows};
use warpnest::strings::StringColumn;
use warpnest::{Buffer, Device, Error};
use warpnest_tests::{
    TestEngine, assert_lengths, assert_wrong_device, elsewhere, on_every_engine, parameterized, says,
};

/// A row of a table; columns that a shape does not have are the same in all rows.
pub type Row = (Vec<u8>, u32, u64, Vec<u8>);

/// The count of shapes, which have columns of words, of texts, or of both.
pub const SHAPES: usize = 6;

/// Returns one of several texts. Their lengths are around one, two and four words; they agree
/// except in their last bytes, and some end with a zero.
fn text(number: u64) -> Vec<u8> {
    const LENGTHS: [usize; 14] = [0, 1, 2, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 45];
    let mut text: Vec<u8> = (0..LENGTHS[(number % 14) as usize]).map(|byte| b'a' + byte as u8).collect();
    if let Some(last) = text.last_mut() {
        *last = [*last, 0, 0xff][(number / 14 % 3) as usize];
    }
    text
}

/// A table with all columns; the text columns are on a device.
pub struct Table {
    pub rows: Vec<Row>,
    narrow: Vec<u32>,
    wide: Vec<u64>,
    first: TextColumn,
    last: TextColumn,
}

impl Table {
    /// Returns the table whose rows follow from the numbers.
    pub fn new(device: &Device, numbers: &[u64], shape: usize) -> Self {
        let nans = [f64::NAN.to_bits(), f64::NAN.to_bits() ^ 1, (-0.0f64).to_bits(), 0];
        let rows: Vec<Row> = numbers
            .iter()
            .map(|&number| {
                let narrow = if matches!(shape, 1 | 2) { (number >> 8) as u32 % 3 } else { 0 };
                let wide = if matches!(shape, 2..=4) { nans[(number >> 10) as usize % 4] } else { 0 };
                let first = if matches!(shape, 0 | 1 | 3 | 5) { text(number) } else { Vec::new() };
                let last = if shape == 3 { text(number >> 12) } else { Vec::new() };
                (first, narrow, wide, last)
            })
            .collect();
        let column = |text: fn(&Row) -> &Vec<u8>| -> Vec<&Vec<u8>> { rows.iter().map(text).collect() };
        let first = TextColumn::new(device, &column(|row| &row.0)).unwrap();
        let last = TextColumn::new(device, &column(|row| &row.3)).unwrap();
        let (narrow, wide) = rows.iter().map(|row| (row.1, row.2)).unzip();
        Self { narrow, wide, first, last, rows }
    }

    /// Returns the keys of a shape.
    pub fn keys(&self, shape: usize) -> WideKeys<'_> {
        match shape {
            0 => WideKeys::of_text(&self.first),
            1 => WideKeys::of(&self.narrow).and_text(&self.first),
            2 => WideKeys::of(&self.wide).and(&self.narrow).and(&self.wide),
            3 => WideKeys::of_text(&self.first).and(&self.wide).and_text(&self.last),
            4 => WideKeys::of(&self.wide),
            _ => WideKeys::of_text(&self.last).and_text(&self.first),
        }
    }

    /// Returns a number for each row, equal exactly if the keys are.
    pub fn numbers(tables: [&Self; 2]) -> [Vec<u32>; 2] {
        let mut numbers = HashMap::new();
        tables.map(|table| {
            let number = |row| {
                let next = numbers.len() as u32;
                *numbers.entry(row).or_insert(next)
            };
            table.rows.iter().map(number).collect()
        })
    }
}

/// Returns a strategy for numbers that give rows: few different or many.
pub fn numbers(most: usize) -> impl Strategy<Value = Vec<u64>> {
    (prop::collection::vec(any::<u64>(), 0..most), 0..3usize)
        .prop_map(|(bits, kind)| bits.into_iter().map(|bits| [0, bits % 5, bits][kind]).collect())
}

fn most_rows(engine: &TestEngine) -> usize {
    engine.max_items.min(400) / 2
}

#[test]
fn rows_have_one_hash_if_they_are_equal_and_on_every_device() {
    on_every_engine(
        |engine| (numbers(most_rows(engine)), 0..SHAPES, any::<u64>()),
        |engine, (numbers, shape, seed)| {
            let table = Table::new(&engine.device, &numbers, shape);
            let hashes = hash_rows(&engine.device, &table.keys(shape), seed).unwrap();
            let cpu = Device::cpu();
            let there = Table::new(&cpu, &numbers, shape);
            prop_assert_eq!(&hashes, &hash_rows(&cpu, &there.keys(shape), seed).unwrap());
            let mut of_rows = HashMap::new();
            let mut rows_of = HashMap::new();
            for (row, &hash) in table.rows.iter().zip(&hashes) {
                prop_assert_eq!(*of_rows.entry(row).or_insert(hash), hash);
                // With 61 bits, no two of a few hundred hashes are equal by chance.
                prop_assert_eq!(*rows_of.entry(hash).or_insert(row), row);
            }
            Ok(())
        },
    );
}

/// Checks that the hash of a text does not depend on its position in memory or on bytes around it.
#[parameterized]
fn the_hash_of_a_text_is_that_of_its_bytes(device: &Device) {
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(device));
    let text: Vec<u8> = (1..41).collect();
    for length in [0u32, 1, 7, 8, 9, 16, 23, 31] {
        let mut hashes = Vec::new();
        for start in 0..9u32 {
            let mut bytes = vec![[0xa5u8 ^ start as u8; 8]; 6];
            let end = (start + length) as usize;
            bytes.as_flattened_mut()[start as usize..end].copy_from_slice(&text[..length as usize]);
            // The memory ends with the text's last word.
            bytes.truncate(end.div_ceil(8));
            let bytes = Buffer::from_slice(device, &bytes).unwrap();
            let offsets = Buffer::from_slice(device, &[start, end as u32]).unwrap();
            let column = TextColumn::from_buffers(stream, &mut scratch, offsets, bytes).unwrap();
            hashes.extend(hash_rows(device, &WideKeys::of_text(&column), 5).unwrap());
        }
        assert!(hashes.windows(2).all(|pair| pair[0] == pair[1]), "{length}");
        let longer = TextColumn::new(device, &[[&text[..length as usize], &[0]].concat()]).unwrap();
        assert_ne!(hash_rows(device, &WideKeys::of_text(&longer), 5).unwrap(), hashes[..1]);
    }
}

#[test]
fn pairs_of_equal_rows_are_flagged_and_kept() {
    on_every_engine(
        |engine| {
            let most = most_rows(engine);
            let row = || prop_oneof![9 => any::<u32>(), 1 => Just(NO_ROW)];
            let pairs = prop::collection::vec((row(), row()), 0..most);
            (numbers(most), numbers(most), pairs, 0..SHAPES)
        },
        |engine, (left, right, pairs, shape)| {
            let (device, stream) = (&engine.device, engine.device.default_stream());
            let tables = [Table::new(device, &left, shape), Table::new(device, &right, shape)];
            // A few row indices are beyond the last row.
            let within = |row: u32, rows: usize| if row == NO_ROW { row } else { row % (rows as u32 + 2) };
            let pairs: Vec<(u32, u32)> =
                pairs.iter().map(|pair| (within(pair.0, left.len()), within(pair.1, right.len()))).collect();
            let equal = |&(left, right): &(u32, u32)| {
                let (left, right) = (tables[0].rows.get(left as usize), tables[1].rows.get(right as usize));
                left.is_some() && left == right
            };
            let expected: Vec<(u32, u32)> = pairs.iter().copied().filter(equal).collect();
            let (left_rows, right_rows): (Vec<u32>, Vec<u32>) = pairs.iter().copied().unzip();
            let [mut left_rows, mut right_rows] =
                [left_rows, right_rows].map(|rows| Buffer::from_slice(device, &rows).unwrap());
            let mut keep = Buffer::from_slice(device, &vec![u32::MAX; pairs.len().div_ceil(32)]).unwrap();
            let keys = (&tables[0].keys(shape), &tables[1].keys(shape));
            let mut scratch = Scratch::new(device);
            flag_equal_rows(stream, &mut scratch, keys, (&left_rows, &right_rows), &mut keep).unwrap();
            let keep = keep.download(stream).unwrap();
            let flag = |pair: usize| keep[pair / 32] >> (pair % 32) & 1 != 0;
            prop_assert!((0..pairs.len()).all(|pair| flag(pair) == equal(&pairs[pair])));
            prop_assert!((pairs.len()..32 * keep.len()).all(|pair| !flag(pair)));

            retain_equal_rows(stream, &mut scratch, keys, (&mut left_rows, &mut right_rows)).unwrap();
            let kept = left_rows.download(stream).unwrap().into_iter().zip(right_rows.download(stream).unwrap());
            prop_assert_eq!(kept.collect::<Vec<_>>(), expected);
            // All remaining pairs are equal, so none is removed.
            let length = left_rows.len();
            retain_equal_rows(stream, &mut scratch, keys, (&mut left_rows, &mut right_rows)).unwrap();
            prop_assert_eq!((left_rows.len(), right_rows.len()), (length, length));
            Ok(())
        },
    );
}

#[parameterized]
fn offsets_of_every_type_are_compared_with_each_other(device: &Device) {
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(device));
    let texts = [&b"to"[..], b"", b"toberornot", b"be"];
    let bytes = || Buffer::from_slice(device, &[*b"totobero", *b"rnotbe??"]).unwrap();
    let columns = [
        TextColumn::new(device, &texts).unwrap(),
        TextColumn::new(device, &StringColumn::new(b"totoberornotbe", &[0i64, 2, 2, 12, 14]).unwrap()).unwrap(),
        TextColumn::from_buffers(stream, &mut scratch, on(device, &[0i32, 2, 2, 12, 14]), bytes()).unwrap(),
        TextColumn::from_buffers(stream, &mut scratch, on(device, &[0u64, 2, 2, 12, 14]), bytes()).unwrap(),
        TextColumn::from_buffers(stream, &mut scratch, on(device, &[0i64, 2, 2, 12, 14]), bytes()).unwrap(),
    ];
    for left in &columns {
        assert_eq!(left.download(stream).unwrap(), texts);
        assert_eq!((left.len(), left.is_empty()), (4, false));
        for right in &columns {
            let keys = (&WideKeys::of_text(left), &WideKeys::of_text(right));
            let (left, right): (Vec<u32>, Vec<u32>) = (0..16).map(|pair| (pair / 4, pair % 4)).unzip();
            let [mut left, mut right] = [on(device, &left), on(device, &right)];
            retain_equal_rows(stream, &mut scratch, keys, (&mut left, &mut right)).unwrap();
            assert_eq!(left.download(stream).unwrap(), [0, 1, 2, 3]);
            assert_eq!(right.download(stream).unwrap(), [0, 1, 2, 3]);
        }
    }
    assert_eq!(columns[0].memory_bytes(), 16 + 20);
    assert_eq!(columns[3].memory_bytes(), 16 + 40);
}

fn on<T: warpnest::types::Plain>(device: &Device, elements: &[T]) -> Buffer<T> {
    Buffer::from_slice(device, elements).unwrap()
}

#[parameterized]
fn offsets_that_do_not_ascend_or_exceed_the_bytes_are_refused(engine: &TestEngine) {
    let (device, stream) = (&engine.device, engine.device.default_stream());
    let mut scratch = Scratch::new(device);
    let bytes = || on(device, &[[b'x'; 8]; 2]);
    let mut refused = |offsets: &[i32]| {
        let narrow = TextColumn::from_buffers(stream, &mut scratch, on(device, offsets), bytes()).map(|_| ());
        let wide: Vec<i64> = offsets.iter().map(|&offset| offset.into()).collect();
        let wide = TextColumn::from_buffers(stream, &mut scratch, on(device, &wide), bytes()).map(|_| ());
        assert_eq!(narrow, wide);
        match narrow {
            Ok(()) => None,
            Err(Error::Input(InputError::Offsets { number, bytes: 16 })) => Some(number),
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(refused(&[]), None);
    assert_eq!(refused(&[16]), None);
    assert_eq!(refused(&[3, 3, 16]), None);
    assert_eq!(refused(&[17]), Some(0));
    assert_eq!(refused(&[-1, 3]), Some(0));
    assert_eq!(refused(&[0, 5, 4, 3, 20]), Some(2));
    assert_eq!(refused(&[0, 5, 6, 20, 1]), Some(3));
    let many: Vec<i32> = (0..600).map(|row| if row < 590 { 1 } else { 0 }).collect();
    assert_eq!(refused(&many), Some(590));
    let none = TextColumn::from_buffers(stream, &mut scratch, on::<u32>(device, &[]), bytes()).unwrap();
    assert!(none.is_empty() && none.download(stream).unwrap().is_empty());
    assert_eq!(hash_rows(device, &WideKeys::of_text(&none), 1).unwrap(), []);
}

#[test]
fn columns_of_other_lengths_and_types_are_refused() {
    let device = Device::cpu();
    let (stream, mut scratch) = (device.default_stream(), Scratch::new(&device));
    let texts = TextColumn::new(&device, &["a", "b"]).unwrap();
    let uneven = WideKeys::of(&[1u32, 2]).and(&[1u64, 2]).and_text(&texts).and(&[1u32]);
    let error = hash_rows(&device, &uneven, 1).unwrap_err();
    assert_eq!(error, InputError::ColumnLength { number: 3, rows: 1, first: 2 }.into());
    says(&error, &["column 3", "1 rows", "has 2"]);
    let mut short = Buffer::zeroed(&device, 1).unwrap();
    let error = hash_rows_into(stream, &mut scratch, &WideKeys::of_text(&texts), 1, &mut short).unwrap_err();
    assert_lengths(error, ("the keys", 2), ("the hashes", 1));

    let rows = Buffer::from_slice(&device, &[0u32]).unwrap();
    let mut keep = Buffer::zeroed(&device, 1).unwrap();
    let mut differ = |left: WideKeys<'_>, right: WideKeys<'_>| {
        let error = flag_equal_rows(stream, &mut scratch, (&left, &right), (&rows, &rows), &mut keep).unwrap_err();
        match error {
            Error::Input(InputError::KeysDiffer { number, .. }) => number,
            error => panic!("{error}"),
        }
    };
    assert_eq!(differ(WideKeys::of(&[1u32]), WideKeys::of(&[1i32])), 0);
    assert_eq!(differ(WideKeys::of(&[1u32, 2]), WideKeys::of(&[1u32, 2]).and_text(&texts)), 1);
    assert_eq!(differ(WideKeys::of_text(&texts).and_text(&texts), WideKeys::of_text(&texts).and(&[1u64, 2])), 1);
    let keys = WideKeys::of_text(&texts);
    let two = Buffer::from_slice(&device, &[0u32, 1]).unwrap();
    let error = flag_equal_rows(stream, &mut scratch, (&keys, &keys), (&two, &rows), &mut keep).unwrap_err();
    assert_lengths(error, ("the left rows", 2), ("the right rows", 1));
    let mut long = Buffer::zeroed(&device, 2).unwrap();
    let error = flag_equal_rows(stream, &mut scratch, (&keys, &keys), (&two, &two), &mut long).unwrap_err();
    assert_lengths(error, ("the pairs, in words of 32,", 1), ("the words to keep", 2));
}

#[test]
fn what_belongs_to_another_device_is_refused() {
    let (device, there) = (Device::cpu(), elsewhere());
    let far = TextColumn::new(&there, &["a"]).unwrap();
    let error = hash_rows(&device, &WideKeys::of_text(&far), 1).unwrap_err();
    assert_wrong_device(error, "the column of texts", &there, &device);
    let near = TextColumn::new(&device, &["a"]).unwrap();
    let keys = WideKeys::of_text(&near);
    let error = hash_rows_on(there.default_stream(), &mut Scratch::new(&device), &keys, 1).unwrap_err();
    assert_wrong_device(error, "the stream", &there, &device);
    let (offsets, bytes) = (on(&there, &[0u32]), on(&there, &[[0u8; 8]]));
    let made = TextColumn::from_buffers(device.default_stream(), &mut Scratch::new(&device), offsets, bytes);
    assert_wrong_device(made.unwrap_err(), "the buffer of offsets", &there, &device);
    let mut rows = [on(&there, &[0u32]), on(&there, &[0u32])];
    let [left, right] = &mut rows;
    let stream = device.default_stream();
    let error = retain_equal_rows(stream, &mut Scratch::new(&device), (&keys, &keys), (left, right)).unwrap_err();
    assert_wrong_device(error, "a buffer", &there, &device);
}
