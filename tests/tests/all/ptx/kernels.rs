//! The entry points of every kernel. A new kernel must be added here; until then the tests fail
//! because of its entries in the PTX.

use gpu_kernels::layered::{compacting, multi};
use gpu_kernels::primitives::{compact, flags, gather, iota, radix, readback, reduce, scan, scatter, wide_histogram};
use gpu_kernels::seam::Entry;
use gpu_kernels::table::combine;
use gpu_kernels::types::{Columns, Nothing, Payload};
use gpu_kernels::{columns, cuckoo, extendible, linear, page, relational, sorted, split, two_level};
use warpnest::low_level::ptx::hopper;
use warpnest::types::{WordKey as Key, WordValue as Value};

type Entries = Vec<&'static Entry>;

/// Returns the entry points of the kernels without types.
fn of_no_type() -> Entries {
    vec![
        columns::ListColumns::ENTRY,
        compacting::CountBits::ENTRY,
        compact::Invert::ENTRY,
        extendible::CopyTables::ENTRY,
        extendible::MergeBuddies::ENTRY,
        extendible::Needs::ENTRY,
        extendible::Redirect::ENTRY,
        extendible::Release::ENTRY,
        extendible::TableDepths::ENTRY,
        flags::CountFlags::ENTRY,
        flags::ExpandFlags::ENTRY,
        gather::GatherRows::ENTRY,
        iota::Iota::ENTRY,
        linear::CountInserting::ENTRY,
        readback::Readback::ENTRY,
        relational::group_by::sort::DescribeGroups::ENTRY,
        relational::group_by::means::Means::ENTRY,
        relational::group_by::spreads::Spreads::ENTRY,
        relational::distinct::ids::FlagFirsts::ENTRY,
        relational::distinct::ids::FlagRepeated::ENTRY,
        relational::distinct::ids::NumberRows::ENTRY,
        relational::rows::AppendRows::ENTRY,
        relational::rows::RaiseOutcomes::ENTRY,
        relational::rows::RenumberRows::ENTRY,
    ]
}

/// Returns the entry points of the kernels with one type, for one choice of that type.
fn of_key<K: Key>() -> Entries {
    vec![
        combine::CombineFound::<K>::ENTRY,
        compact::Compact::<K>::ENTRY,
        compact::CompactRuns::<K>::ENTRY,
        compact::LastOfEach::<K>::ENTRY,
        compact::SortedRuns::<K>::ENTRY,
        compacting::FlagSlotValues::<K>::ENTRY,
        compacting::KeysOf::<K>::ENTRY,
        compacting::NumberSlots::<K>::ENTRY,
        compacting::RankSlotValues::<K>::ENTRY,
        compacting::ReverseRows::<K>::ENTRY,
        extendible::MergeAround::<K>::ENTRY,
        flags::FillAbsent::<K>::ENTRY,
        multi::Gather::<K>::ENTRY,
        multi::Runs::<K>::ENTRY,
        multi::RunsOfCuckoo::<K>::ENTRY,
        page::FindLast::<K>::ENTRY,
        page::FlagValues::<K>::ENTRY,
        page::IndexRepeats::<K>::ENTRY,
        page::Number::<K>::ENTRY,
        page::RankValues::<K>::ENTRY,
        page::Sample::<K>::ENTRY,
        page::Starts::<K>::ENTRY,
        radix::Histogram::<K>::ENTRY,
        reduce::AddHeads::<K>::ENTRY,
        reduce::ReduceSegments::<K>::ENTRY,
        relational::group_by::BuildHot::<K>::ENTRY,
        relational::join::BinStarts::<K>::ENTRY,
        relational::join::FillTable::<K>::ENTRY,
        relational::join::JoinDirect::<K>::ENTRY,
        relational::join::JoinDistinct::<K>::ENTRY,
        relational::join::JoinOnChip::<K>::ENTRY,
        relational::join::JoinPages::<K, false>::ENTRY,
        relational::join::JoinPages::<K, true>::ENTRY,
        relational::join::JoinTable::<K>::ENTRY,
        relational::keys::EncodeKeys::<K>::ENTRY,
        relational::rows::CheckOffsets::<K>::ENTRY,
        relational::rows::CompareWords::<K>::ENTRY,
        relational::rows::HashTexts::<K>::ENTRY,
        relational::rows::HashWords::<K>::ENTRY,
        relational::group_by::quantiles::OrderValues::<K>::ENTRY,
        relational::group_by::quantiles::Quantiles::<K>::ENTRY,
        relational::group_by::spreads::SquareDeviations::<K>::ENTRY,
        relational::group_by::SampleKeys::<K>::ENTRY,
        relational::group_by::SelectHot::<K>::ENTRY,
        scan::InclusiveScan::<K>::ENTRY,
        scan::Scan::<K>::ENTRY,
        scatter::ScatterRows::<K>::ENTRY,
        sorted::Bounds::<K>::ENTRY,
        sorted::CountRanges::<K>::ENTRY,
        sorted::Index::<K>::ENTRY,
        two_level::BucketStarts::<K>::ENTRY,
        wide_histogram::WideHistogram::<K>::ENTRY,
    ]
}

/// Returns the entry points of the kernels of maps and sets, for a key and its payload.
fn of_payload<K: Key, V: Payload>() -> Entries {
    vec![
        cuckoo::Census::<K, V>::ENTRY,
        cuckoo::Find::<K, V>::ENTRY,
        cuckoo::Histogram::<K, V>::ENTRY,
        cuckoo::Insert::<K, V>::ENTRY,
        cuckoo::Last::<K, V>::ENTRY,
        cuckoo::Unpack::<K, V>::ENTRY,
        page::AddDirectly::<K, V>::ENTRY,
        page::AddToPages::<K, V, false>::ENTRY,
        page::AddToPages::<K, V, true>::ENTRY,
        page::BuildPages::<K, V, false>::ENTRY,
        page::BuildPages::<K, V, true>::ENTRY,
        page::BuildPagesUnordered::<K, V>::ENTRY,
        page::CheckTags::<K, V>::ENTRY,
        page::EvictLeft::<K, V>::ENTRY,
        page::Find::<K, V>::ENTRY,
        page::RemoveDirectly::<K, V>::ENTRY,
        page::RemoveFromPages::<K, V>::ENTRY,
        page::StoreLast::<K, V>::ENTRY,
        page::StoreRepeated::<K, V>::ENTRY,
        page::Unpack::<K, V>::ENTRY,
        radix::Partition::<K, V>::ENTRY,
    ]
}

/// Returns the entry points of the kernels whose rows may have several values, for a key type and a
/// payload.
fn of_row<K: Key, V: Payload>() -> Entries {
    vec![
        split::Split::<K, V, false>::ENTRY,
        split::Split::<K, V, true>::ENTRY,
        relational::group_by::GroupChains::<K, V>::ENTRY,
        relational::group_by::GroupPages::<K, V>::ENTRY,
        relational::group_by::HotGroups::<K, V>::ENTRY,
        relational::group_by::HotPass::<K, V, false>::ENTRY,
        relational::group_by::HotPass::<K, V, true>::ENTRY,
        relational::group_by::HotPassLarge::<K, V, false>::ENTRY,
        relational::group_by::HotPassLarge::<K, V, true>::ENTRY,
        relational::group_by::HotPassParts::<K, V>::ENTRY,
        relational::group_by::table::GroupRows::<K, V>::ENTRY,
        relational::group_by::table::WriteGroups::<K, V>::ENTRY,
    ]
}

/// Returns the entry points of the kernels that only maps use, for one pair of types.
fn of_pair<K: Key, V: Value>() -> Entries {
    vec![
        combine::CastNumbers::<K, V>::ENTRY,
        cuckoo::StoreValues::<K, V>::ENTRY,
        extendible::Absorb::<K, V>::ENTRY,
        extendible::BuildLeaves::<K, V>::ENTRY,
        extendible::Divide::<K, V>::ENTRY,
        extendible::Find::<K, V>::ENTRY,
        extendible::InsertFresh::<K, V>::ENTRY,
        extendible::Locate::<K, V>::ENTRY,
        extendible::Overflows::<K, V>::ENTRY,
        extendible::Remove::<K, V>::ENTRY,
        extendible::Repack::<K, V>::ENTRY,
        extendible::Unpack::<K, V>::ENTRY,
        extendible::Update::<K, V>::ENTRY,
        relational::rows::CompareTexts::<K, V>::ENTRY,
        sorted::BinarySearch::<K, V>::ENTRY,
        sorted::Find::<K, V>::ENTRY,
        two_level::BuildBuckets::<K, V>::ENTRY,
        two_level::Find::<K, V>::ENTRY,
        two_level::Histogram::<K, V>::ENTRY,
    ]
}

/// Returns the entry points of the linear map for one pair of types.
fn linear_of_pair<K: Key, V: Value>() -> Entries {
    vec![
        linear::Apply::<K, V, false>::ENTRY,
        linear::Apply::<K, V, true>::ENTRY,
        linear::Combine::<K, V, false>::ENTRY,
        linear::Combine::<K, V, true>::ENTRY,
        linear::Find::<K, V>::ENTRY,
        linear::Insert::<K, V, false>::ENTRY,
        linear::Insert::<K, V, true>::ENTRY,
        linear::Unpack::<K, V>::ENTRY,
    ]
}

/// Returns the entry points of the linear map that read slots without interpreting them.
fn linear_of_half<H: Key>() -> Entries {
    vec![linear::ProbeLengths::<H>::ENTRY, linear::Recount::<H>::ENTRY, linear::Rehash::<H>::ENTRY]
}

/// Returns the entry points of the linear map for 64-bit keys or values, which change words of 128
/// bits.
pub fn wide_linear() -> Entries {
    let pairs = [linear_of_pair::<u32, u64>(), linear_of_pair::<u64, u32>(), linear_of_pair::<u64, u64>()];
    pairs.into_iter().chain([linear_of_half::<u64>()]).flatten().collect()
}

/// Returns every entry point of a module.
pub fn entries(ptx: &str) -> Entries {
    let of_types = [
        of_no_type(),
        of_key::<u32>(),
        of_key::<u64>(),
        of_payload::<u32, u32>(),
        of_payload::<u32, u64>(),
        of_payload::<u64, u32>(),
        of_payload::<u64, u64>(),
        of_payload::<u32, Nothing>(),
        of_payload::<u64, Nothing>(),
        of_row::<u32, u32>(),
        of_row::<u32, u64>(),
        of_row::<u64, u32>(),
        of_row::<u64, u64>(),
        of_row::<u32, Nothing>(),
        of_row::<u64, Nothing>(),
        of_row::<u32, Columns>(),
        of_row::<u64, Columns>(),
        of_pair::<u32, u32>(),
        of_pair::<u32, u64>(),
        of_pair::<u64, u32>(),
        of_pair::<u64, u64>(),
        linear_of_pair::<u32, u32>(),
        linear_of_half::<u32>(),
    ];
    let wide = if ptx == hopper() { wide_linear() } else { Vec::new() };
    of_types.into_iter().flatten().chain(wide).collect()
}
