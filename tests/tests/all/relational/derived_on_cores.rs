//! Variances and counts of distinct values of so many rows that cores divide them, compared with
//! exact arithmetic.

use super::derived::{check_close, variance};
use super::rows::rows_of;
use proptest::prelude::*;
use std::collections::HashSet;
use warpnest::Device;
use warpnest::relational::{GroupBy, Order};

/// More rows than a core takes at once.
const ROWS: usize = 50_000;
/// What the values of `close` and `far` are multiples of.
const UNIT: f64 = 1.0 / 1024.0;

/// Returns random words.
fn words(seed: u64) -> impl Iterator<Item = u64> {
    let next = move |word: &u64| Some(word.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(seed | 1));
    std::iter::successors(Some(seed), next).skip(2).map(|word| word >> 20)
}

/// Checks variances and counts of distinct values. Half of the rows have one of `hot` keys.
fn check(threads: usize, seed: u64, groups: u64, hot: u64) -> Result<(), TestCaseError> {
    let of_words = |of: &dyn Fn(u64) -> u64| words(seed).take(ROWS).map(of).collect::<Vec<u64>>();
    let keys = of_words(&|word| if word % 2 == 0 { word / 2 % hot } else { word / 2 % groups });
    // Numbers that differ little, and numbers of which the first of each group is far off.
    let close = of_words(&|word| (1_000_000_000 << 10) + (word >> 5) % 3000);
    let mut seen = HashSet::new();
    let small = of_words(&|word| (word >> 7) % 5000);
    let far: Vec<u64> =
        keys.iter().zip(&small).map(|(&key, &small)| if seen.insert(key) { 1 << 40 } else { small }).collect();
    let [close_numbers, far_numbers] =
        [&close, &far].map(|units| units.iter().map(|&unit| unit as f64 * UNIT).collect::<Vec<f64>>());
    let integers: Vec<i32> = small.iter().map(|&small| small as i32 - 2500).collect();
    let pages: Vec<u32> = of_words(&|word| (word >> 9) % 40 * 0x500_0001).iter().map(|&page| page as u32).collect();
    let names = of_words(&|word| ((word >> 11) % 30) << 33);
    let endless: Vec<f64> = keys.iter().map(|&key| if key == 0 { f64::INFINITY } else { 1e300 }).collect();

    let short_keys: Vec<u32> = keys.iter().map(|&key| key as u32).collect();
    let mut query = GroupBy::new(&short_keys);
    let squares = [query.var(&close_numbers), query.var(&far_numbers), query.var(&integers), query.std(&integers)];
    let distinct = [query.count_distinct(&pages), query.count_distinct(&names)];
    let endless = query.var(&endless);
    query.order(Order::ByKey).seed(seed);
    let mut wide = GroupBy::new(&keys);
    let wide_distinct = wide.count_distinct(&pages);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let (found, wide) = pool.install(|| {
        let device = Device::cpu();
        (query.run(&device).unwrap(), wide.order(Order::ByKey).run(&device).unwrap())
    });

    let mut expected = rows_of(&short_keys);
    expected.sort_by_key(|group| group.0);
    let expected_keys: Vec<u32> = expected.iter().map(|group| group.0).collect();
    prop_assert_eq!(&found.keys, &expected_keys);
    let variances = |units: &dyn Fn(usize) -> i128, factor: f64| -> Vec<f64> {
        let of = |rows: &[usize]| rows.iter().map(|&row| units(row)).collect::<Vec<i128>>();
        expected.iter().map(|group| variance(&of(&group.1), 1) * factor).collect()
    };
    let of_integers = variances(&|row| integers[row].into(), 1.0);
    let of_all = [
        variances(&|row| close[row].into(), UNIT * UNIT),
        variances(&|row| far[row].into(), UNIT * UNIT),
        of_integers.clone(),
        of_integers.iter().map(|variance| variance.sqrt()).collect(),
    ];
    for (aggregate, of_all) in squares.into_iter().zip(&of_all) {
        for ((found, expected), (_, rows)) in found.column(aggregate).unwrap().iter().zip(of_all).zip(&expected) {
            check_close(&[*found], &[*expected], (rows.len(), 0.0))?;
        }
    }
    let counts = |value: &dyn Fn(usize) -> u64| -> Vec<u32> {
        let of = |rows: &[usize]| rows.iter().map(|&row| value(row)).collect::<HashSet<u64>>().len() as u32;
        expected.iter().map(|group| of(&group.1)).collect()
    };
    let of_pages = counts(&|row| pages[row].into());
    prop_assert_eq!(found.column(distinct[0]).unwrap(), &of_pages);
    prop_assert_eq!(found.column(distinct[1]).unwrap(), &counts(&|row| names[row]));
    prop_assert_eq!(wide.column(wide_distinct).unwrap(), &of_pages);
    for ((key, rows), variance) in expected.iter().zip(found.column(endless).unwrap()) {
        let is_right = if *key == 0 || rows.len() == 1 { variance.is_nan() } else { *variance == 0.0 };
        prop_assert!(is_right, "{} of {} rows", variance, rows.len());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn variances_and_distinct_values_are_exact(
        threads in 1usize..4,
        seed in any::<u64>(),
        groups in prop::sample::select(vec![1u64, 3, 17, 900, 3000, 30_000]),
        hot in 1u64..40,
    ) {
        check(threads, seed, groups, hot)?;
    }
}
