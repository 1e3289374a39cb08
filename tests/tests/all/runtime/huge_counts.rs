//! The sizes that configurations announce for counts up to the largest: a number or an error,
//! without delay.

use warpnest::design::Config;
use warpnest::design::Sets;
use warpnest::error::{ConfigError, InputError};
use warpnest::{
    CompactingConfig, CuckooConfig, Device, Error, ExtendibleConfig, LinearConfig, MultiConfig, PageConfig, Result,
    SortedConfig, TwoLevelConfig,
};
use warpnest_tests::at;

/// Counts around every power of two from 2^20, and the two largest counts.
fn counts() -> impl Iterator<Item = usize> {
    (20..64).flat_map(|lg| [(1 << lg) - 1, 1 << lg, (1 << lg) + 1]).chain([usize::MAX - 1, usize::MAX])
}

/// Returns whether the error says that the count is too large.
fn is_of_size(error: &Error) -> bool {
    matches!(
        error,
        Error::Input(InputError::TooManyItems { .. } | InputError::TooManyPairs { .. })
            | Error::Input(InputError::TooManySlots { .. } | InputError::TooManyKeys { .. })
            | Error::Config(ConfigError::Load { .. } | ConfigError::OpenLoad { .. })
    )
}

/// Checks the size for each count. It must be at least `some(count)` bytes, or an error that says
/// that the count is too large; the largest counts must be errors.
fn check(what: &str, bytes: impl Fn(usize) -> Result<usize>, some: impl Fn(usize) -> usize) {
    for count in counts() {
        let _at = at(format!("{what} of {count}"));
        match bytes(count) {
            Ok(bytes) => assert!(bytes >= some(count) && count < 1 << 34, "{bytes} bytes"),
            Err(error) => assert!(is_of_size(&error), "{error}"),
        }
    }
    assert!(bytes(usize::MAX).is_err_and(|error| is_of_size(&error)), "{what} of all");
}

/// Returns the least size of builds that may take no memory, which is 0.
fn any(_: usize) -> usize {
    0
}

fn table(count: usize) -> usize {
    count / 8
}

macro_rules! check_all {
    ($($config:expr => <$($types:ty),*>;)*) => {
        $(
            let (config, name) = ($config, stringify!($config <$($types),*>));
            check(&format!("memory_bytes, {name}"), |count| config.memory_bytes::<$($types),*>(count), table);
            check(&format!("scratch_bytes, {name}"), |count| config.scratch_bytes::<$($types),*>(count), any);
        )*
    };
}

#[test]
fn sizes_of_huge_counts_are_numbers_or_typed_errors() {
    let unusual = TwoLevelConfig::default().bucket_capacity(1).items_per_bucket(1.0);
    check_all! {
        PageConfig::default() => <u32, u32>;
        PageConfig::default() => <u64, u64>;
        PageConfig::default().assume_unique() => <u64, u32>;
        PageConfig::default().load(1.0) => <u32, u64>;
        PageConfig::default().load(1e-300) => <u32, u32>;
        CuckooConfig::default() => <u32, u32>;
        CuckooConfig::default() => <u64, u64>;
        CuckooConfig::default().slots_per_pair(1e300) => <u64, u64>;
        SortedConfig::default() => <u32, u32>;
        SortedConfig::default().assume_unique() => <u64, u64>;
        CompactingConfig::default() => <u32>;
        CompactingConfig::default().in_order_of_appearance() => <u64>;
        CompactingConfig::on(CuckooConfig::default()).in_order_of_appearance() => <u32>;
        MultiConfig::default() => <u32, u32>;
        MultiConfig::on(CuckooConfig::default()) => <u64, u64>;
        MultiConfig::on(CuckooConfig::default().functions(5)) => <u64, u32>;
        TwoLevelConfig::default() => <u32, u32>;
        TwoLevelConfig::default() => <u64, u64>;
        unusual => <u32, u32>;
    }
    sizes_of_huge_sets(&PageConfig::default());
    sizes_of_huge_sets(&CuckooConfig::default());
}

fn sizes_of_huge_sets<D: Sets>(config: &Config<D>) {
    let name = D::NAME;
    check(&format!("set_memory_bytes, {name}, 32 bits"), |count| config.set_memory_bytes::<u32>(count), table);
    check(&format!("set_memory_bytes, {name}, 64 bits"), |count| config.set_memory_bytes::<u64>(count), table);
    check(&format!("set_scratch_bytes, {name}, 32 bits"), |count| config.set_scratch_bytes::<u32>(count), any);
    check(&format!("set_scratch_bytes, {name}, 64 bits"), |count| config.set_scratch_bytes::<u64>(count), any);
}

#[test]
fn what_maps_that_change_say_of_huge_counts_are_numbers_or_typed_errors() {
    let device = Device::cpu();
    for load in [f64::MIN_POSITIVE, 1e-9, 0.8, 1.0 - f64::EPSILON] {
        for config in [LinearConfig::default().load(load), LinearConfig::default().load(load).linear_probing()] {
            check("LinearConfig", |count| config.clone().pairs(count).initial_memory_bytes::<u32, u32>(&device), table);
            check("LinearConfig", |count| config.clone().pairs(count).initial_memory_bytes::<u64, u64>(&device), table);
        }
    }
    let largest = ExtendibleConfig::default().segments(1 << 8).buckets(1 << 23).records(256).max_segments(u64::MAX);
    for config in [ExtendibleConfig::default(), largest] {
        config.initial_memory_bytes::<u64, u64>().unwrap();
        check("ExtendibleConfig", |count| config.batch_scratch_bytes::<u32, u32>(count), any);
        check("ExtendibleConfig", |count| config.batch_scratch_bytes::<u64, u64>(count), any);
    }
    let mut map = ExtendibleConfig::default().create::<u32, u32>(&device).unwrap();
    map.insert_many(&[1, 2], &[3, 4]).unwrap();
    check("ExtendibleMap", |count| map.table().batch_scratch_bytes(count), any);
    let mut map = LinearConfig::default().create::<u32, u32>(&device).unwrap();
    map.insert_many(&[1, 2], &[3, 4]).unwrap();
    for count in [1 << 32, 1 << 40, 1 << 63, usize::MAX] {
        let error = map.reserve(count).unwrap_err();
        assert!(is_of_size(&error), "{error}");
    }
}
