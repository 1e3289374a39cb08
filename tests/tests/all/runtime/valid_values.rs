//! Elements of a type that, like `char`, has invalid words. Whatever fails and whatever fresh
//! memory contains, safe code may reach only valid values.

use std::panic::{AssertUnwindSafe, catch_unwind};
use warpnest::design::BulkMap;
use warpnest::design::Design;
use warpnest::linear::LinearKind;
use warpnest::low_level::engine::{Cores, HostEngine, Runner};
use warpnest::low_level::kernels::seam::Kernel;
use warpnest::primitives::{Scratch, fill_absent, gather, scatter};
use warpnest::relational::{GroupBy, JoinMethod, JoinWithValues, JoinedValues, Method, Order, Unique};
use warpnest::types::{Plain, Proof};
use warpnest::{
    Answers, Buffer, CompactingTable, CuckooMap, Device, Error, ExtendibleMap, Key, LinearMap, MultiMap, PageMap,
    Result, RowMap, SortedMap, Value,
};
use warpnest_testing::planted::{SINGLE_FAULTS, in_each_operation, is_planted, planted};
use warpnest_tests::parameterized;

/// A word that must be even. Fresh memory of the device with planted faults has odd words. The
/// compiler does not know this rule, unlike the rule of `char`, so a test can read an invalid word.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Even(u32);
impl Plain for Even {
    // SAFETY: the type is one word, and 0 is even.
    const PROOF: Proof<Self> = unsafe { Proof::promise() };
}
impl Value for Even {
    type Word = u32;
}
impl Key for Even {}

/// Several even words.
trait Evens {
    fn are_values(&self) -> bool;
}
impl Evens for Even {
    fn are_values(&self) -> bool {
        self.0.is_multiple_of(2)
    }
}
impl<const N: usize> Evens for [Even; N] {
    fn are_values(&self) -> bool {
        self.iter().all(Evens::are_values)
    }
}

/// Fails if the buffer contains an invalid value.
#[track_caller]
fn check<T: Plain + Evens>(device: &Device, buffer: &Buffer<T>) {
    assert!(buffer.download(device.default_stream()).unwrap().iter().all(Evens::are_values));
}

/// Returns keys, some of them repeated.
fn keys(rows: u32) -> Vec<Even> {
    (0..rows).map(|row| Even(row * 6 % 200)).collect()
}

fn buffer<T: Plain>(device: &Device, elements: &[T]) -> Buffer<T> {
    Buffer::from_slice(device, elements).unwrap()
}

/// Lets each operation of a call fail, and checks the state afterwards. The state after a call
/// without failures is checked, too.
fn in_each<T>(
    begin: impl Fn(&Device) -> T,
    call: impl Fn(&Device, &mut T) -> Result<()>,
    look: impl Fn(&Device, &mut T),
) {
    let (device, plan) = planted();
    let mut whole = begin(&device);
    call(&device, &mut whole).unwrap();
    look(&device, &mut whole);
    let seen = in_each_operation(
        &plan,
        &SINGLE_FAULTS,
        || begin(&device),
        |subject| call(&device, subject),
        |mut subject, done| {
            let error = done.err().map(|error| match error {
                Error::Emptied { source } => *source,
                error => error,
            });
            assert!(error.as_ref().is_none_or(is_planted), "{error:?}");
            look(&device, &mut subject);
        },
    );
    assert!(!seen.is_empty(), "nothing failed");
}

#[test]
fn what_a_rebuild_leaves_are_values() {
    let begin = |device: &Device| MultiMap::build(device, &keys(40), &keys(40)).unwrap();
    let call = |_: &Device, map: &mut MultiMap<Even, Even>| map.rebuild(&keys(300), &keys(300));
    in_each(begin, call, |device, map| {
        check(device, map.value_buffer());
        assert!(map.to_columns().is_ok_and(|(keys, values)| keys.iter().chain(&values).all(Evens::are_values)));
    });
    let begin = |device: &Device| CompactingTable::build(device, &keys(40)).unwrap();
    let call = |_: &Device, table: &mut CompactingTable<Even>| table.rebuild(&keys(300));
    in_each(begin, call, |device, table| {
        check(device, table.key_buffer());
        assert!(table.keys().unwrap().all(|key| key.are_values()));
    });
}

#[test]
fn what_changes_of_a_map_leave_are_values() {
    fn look<D: Design>(_: &Device, map: &mut BulkMap<Even, Even, D>) {
        // A broken map returns an error.
        let Ok((keys, values)) = map.to_columns() else { return };
        assert!(keys.iter().chain(&values).all(Evens::are_values));
    }
    in_each(
        |device| PageMap::build(device, &keys(40), &keys(40)).unwrap(),
        |_, map| map.insert_many(&keys(200), &keys(200)).map(drop),
        look,
    );
    in_each(
        |device| PageMap::build(device, &keys(40), &keys(40)).unwrap(),
        |_, map| map.remove_many(&keys(20)).map(|values| assert!(values.into_iter().flatten().all(|v| v.are_values()))),
        look,
    );
    in_each(
        |device| CuckooMap::build(device, &keys(40), &keys(40)).unwrap(),
        |_, map| map.rebuild(&keys(30), &keys(30)),
        look,
    );
    in_each(
        |device| ExtendibleMap::new(device).unwrap(),
        |_, map| map.insert_many(&keys(100), &keys(100)).map(drop),
        look,
    );
    in_each(|device| LinearMap::new(device).unwrap(), |_, map| map.insert_many(&keys(100), &keys(100)).map(drop), look);
}

#[test]
fn rows_are_values_whichever_have_keys() {
    let rows = |number: u32| keys(number).into_iter().map(|key| [key; 3]).collect::<Vec<_>>();
    let begin = |device: &Device| {
        let mut map: RowMap<Even, [Even; 3]> = RowMap::new(device).unwrap();
        map.insert_many(&keys(40), &rows(40)).unwrap();
        map.erase_many(&keys(10)).unwrap();
        map
    };
    let look = |device: &Device, map: &mut RowMap<Even, [Even; 3]>| check(device, map.rows());
    in_each(begin, |_, map| map.insert_many(&keys(100), &rows(100)).map(drop), look);
    in_each(begin, |_, map| map.remove_many(&keys(30)).map(drop), look);
    in_each(begin, |_, map| map.shrink_to_fit(), look);
    in_each(begin, |_, map| map.reserve(1000), look);
}

#[test]
fn answers_are_values() {
    let queries = keys(70).into_iter().map(|Even(word)| Even(word.wrapping_mul(3))).collect::<Vec<_>>();
    let begin = |device: &Device| {
        let mut linear = LinearMap::new(device).unwrap();
        linear.insert_many(&keys(40), &keys(40)).unwrap();
        let page = PageMap::build(device, &keys(40), &keys(40)).unwrap();
        (linear, page, Answers::<Even>::new(device, 70).unwrap())
    };
    let [a, b, c] = [LinearKind::INSERT, LinearKind::GET, LinearKind::REMOVE];
    let kinds: Vec<LinearKind<Even>> = (0..70).map(|row| [a, b, c, LinearKind::GET_OR_INSERT][row % 4]).collect();
    let call = |device: &Device, (linear, page, answers): &mut (LinearMap<_, _>, PageMap<_, _>, Answers<_>)| {
        let stream = device.default_stream();
        let (queries, kinds) = (Buffer::from_slice(device, &queries)?, Buffer::from_slice(device, &kinds)?);
        page.get_many_into(stream, &queries, answers)?;
        page.remove_many_into(stream, &queries, answers)?;
        linear.get_many_into(stream, &queries, answers)?;
        linear.replace_many_into(stream, &queries, &queries, answers)?;
        linear.get_or_insert_many_into(stream, &queries, &queries, answers)?;
        linear.apply_many_into(stream, &kinds, &queries, &queries, answers)
    };
    in_each(begin, call, |device, (_, _, answers)| check(device, answers.values()));
}

#[test]
fn columns_are_values() {
    let of_rows = |row: u32| Even(row * 2);
    let values: Vec<Even> = (0..300).map(of_rows).collect();
    for (method, order) in [(Method::Sort, Order::ByKey), (Method::Hash, Order::Any), (Method::Sort, Order::FirstSeen)]
    {
        let keys = keys(300);
        let mut query = GroupBy::new(&keys);
        let (first, last) = (query.first(&values), query.last(&values));
        query.method(method).order(order);
        in_each(
            |device| query.run_on(device.default_stream(), &mut Scratch::new(device)).unwrap(),
            |device, groups| query.run_into(device.default_stream(), &mut Scratch::new(device), groups),
            |device, groups| {
                check(device, groups.keys());
                check(device, groups.column(first).unwrap());
                check(device, groups.column(last).unwrap());
            },
        );
        let unique = Unique::of(&keys).ids().order(order);
        in_each(
            |device| unique.run_on(device.default_stream(), &mut Scratch::new(device)).unwrap(),
            |device, found| unique.run_into(device.default_stream(), &mut Scratch::new(device), found),
            |device, found| check(device, &found.keys),
        );
    }
    for method in [JoinMethod::OnChip, JoinMethod::Direct, JoinMethod::Split] {
        let keys = keys(300);
        let mut join = JoinWithValues::new((&keys, &values), (&keys[..90], &values[..90]));
        join.method(method);
        in_each(
            |device| join.run(device).unwrap(),
            |device, joined| join.run_into(device.default_stream(), &mut Scratch::new(device), joined),
            |device, joined| look_at_join(device, joined),
        );
    }
}

fn look_at_join(device: &Device, joined: &JoinedValues<Even, Even, Even>) {
    check(device, joined.keys());
    check(device, joined.left_values());
    check(device, joined.right_values());
}

#[test]
fn buffers_that_grow_or_are_written_in_part_hold_values() {
    in_each(
        |device| (buffer(device, &keys(70)), SortedMap::build(device, &keys(70), &keys(70)).unwrap()),
        |device, (elements, sorted)| {
            let stream = device.default_stream();
            elements.resize(stream, 200)?;
            let (indices, flags) = (Buffer::from_slice(device, &[9u32; 70])?, Buffer::zeroed(device, 3)?);
            let some = Buffer::from_slice(device, &keys(70))?;
            scatter(stream, &some, &indices, elements)?;
            gather(stream, &some, &indices, &mut *elements.slice_mut(100..170)?)?;
            fill_absent(stream, &flags, Even(8), &mut *elements.slice_mut(..70)?)?;
            let copy = elements.to_device(stream, device)?;
            elements.copy_from(stream, &copy)?;
            let (front, mut back) = elements.split_at_mut(100)?;
            back.copy_from(stream, &front)?;
            let mut pairs = (Buffer::zeroed(device, sorted.len())?, Buffer::zeroed(device, sorted.len())?);
            sorted.pairs_into(stream, &mut pairs.0, &mut pairs.1)
        },
        |device, (elements, _)| check(device, elements),
    );
}

/// The CPU engine's block runner, on which one kernel panics.
#[derive(Debug)]
struct Panicking(&'static str);

// SAFETY: the CPU engine runs the launch, or nothing runs.
unsafe impl Runner for Panicking {
    fn name(&self) -> &str {
        "panicking CPU"
    }
    unsafe fn run(&self, kernel: &dyn Kernel, blocks: u32) -> Result<()> {
        assert!(!kernel.name().contains(self.0), "planted");
        // SAFETY: the caller upholds the contract.
        unsafe { Cores.run(kernel, blocks) }
    }
}

#[test]
fn after_a_panic_no_row_numbers_are_left_in_the_place_of_values() {
    let device = Device::from_engine(HostEngine::new(Panicking("gather_rows"))).unwrap();
    let (keys, values) = (keys(9), [Even(4); 9]);
    let mut join = JoinWithValues::new((&keys, &values), (&keys, &values));
    join.method(JoinMethod::OnChip);
    let mut joined = JoinedValues::new(&device).unwrap();
    let run = || join.run_into(device.default_stream(), &mut Scratch::new(&device), &mut joined);
    catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    look_at_join(&device, &joined);
}

#[parameterized]
fn operations_of_a_batch_leave_characters_characters(device: &Device) {
    let stream = device.default_stream();
    let mut map: LinearMap<u32, char> = LinearMap::new(device).unwrap();
    map.insert_many(&[1, 2], &[char::MAX, 'a']).unwrap();
    let kinds = [LinearKind::INSERT, LinearKind::GET_OR_INSERT, LinearKind::GET, LinearKind::REMOVE];
    let (kinds, keys) = (buffer(device, &kinds), buffer(device, &[3u32, 1, 2, 4]));
    let answers = map.apply_many_on(stream, &kinds, &keys, &buffer(device, &[char::MAX; 4])).unwrap();
    assert_eq!(answers.download(stream).unwrap(), [None, Some(char::MAX), Some('a'), None]);
    assert_eq!(map.get_many(&[1, 2, 3, 4]).unwrap(), [Some(char::MAX), Some('a'), Some(char::MAX), None]);
}
