//! Pieces of work that tests run on a device. Each piece checks its own results, and calls `done`
//! after each operation.

use fake_cuda_driver::FakeDriver;
use gpu_kernels::column_values::ColumnParams;
use gpu_kernels::types::Nothing;
use std::ffi::c_void;
use warpnest::low_level::{FewBuffers, HotBlocks, LargeCopies, group_few, set_large_copies};
use warpnest::primitives::Scratch;
use warpnest::{Buffer, Device, ExtendibleMap, LinearConfig, LinearMap, PageMap, Result, Stream};

/// A piece of work on a device.
pub type Work = fn(&Device, &mut dyn FnMut()) -> Result<()>;

/// All pieces of work, with their names.
pub const ALL: [(&str, Work); 10] = [
    ("buffers", buffers),
    ("large copies", large_copies),
    ("streams", streams),
    ("graphs", graphs),
    ("foreign memory", foreign),
    ("page map", page),
    ("linear map", linear),
    ("extendible map", extendible),
    ("files", files),
    ("few groups", few_groups),
];

/// Returns `n` pairs with distinct keys.
pub fn pairs(first: u32, n: u32) -> (Vec<u32>, Vec<u32>) {
    ((first..first + n).map(|i| i.wrapping_mul(0x9e37_79b1)).collect(), (first..first + n).collect())
}

fn some(values: &[u32]) -> Vec<Option<u32>> {
    values.iter().copied().map(Some).collect()
}

/// Makes copies of each kind, small and large.
pub fn buffers(device: &Device, done: &mut dyn FnMut()) -> Result<()> {
    let stream = device.stream()?;
    done();
    for length in [0, 1, 3, 700, 5000] {
        let elements: Vec<u32> = (0..length).collect();
        let mut first = Buffer::from_slice(device, &elements)?;
        done();
        assert_eq!(first.download(&stream)?, elements);
        done();
        let mut second = Buffer::zeroed(device, elements.len())?;
        done();
        assert!(second.download(&stream)?.iter().all(|&element| element == 0));
        second.copy_from(&stream, &first)?;
        done();
        first.fill(&stream, 0xab)?;
        done();
        assert_eq!(second.download(&stream)?, elements);
        assert!(first.download(device.default_stream())?.iter().all(|&element| element == 0xabab_abab));
        drop(first);
        done();
    }
    let memory = device.memory()?;
    assert!(memory.free <= memory.total && memory.total == fake_cuda_driver::TOTAL_MEMORY as u64);
    drop(stream);
    done();
    Ok(())
}

/// Makes copies through staging buffers, which the last change of the settings frees.
pub fn large_copies(device: &Device, done: &mut dyn FnMut()) -> Result<()> {
    set_large_copies(device, LargeCopies { min_bytes: 100, unit: 64, max_uploading: 3, max_downloading: 2 });
    let stream = device.stream()?;
    let elements: Vec<u32> = (0..300).collect();
    let mut buffer = Buffer::from_slice(device, &elements)?;
    done();
    assert_eq!(buffer.download(&stream)?, elements);
    done();
    buffer.fill(&stream, 7)?;
    assert_eq!(buffer.download(&stream)?, [0x0707_0707; 300]);
    done();
    set_large_copies(device, LargeCopies::default());
    Ok(())
}

/// Makes two streams wait for each other by events, some of which are timed.
pub fn streams(device: &Device, done: &mut dyn FnMut()) -> Result<()> {
    let (one, two) = (device.stream()?, device.stream()?);
    let mut buffer = Buffer::<u32>::zeroed(device, 100)?;
    let mut copy = Buffer::<u32>::zeroed(device, 100)?;
    let start = one.record()?;
    for round in 1..=4 {
        buffer.fill(&one, round)?;
        done();
        copy.copy_from(&two, &buffer)?;
        done();
        assert_eq!(copy.download(&one)?[99], u32::from_ne_bytes([round; 4]));
    }
    let end = one.record()?;
    done();
    two.wait(&end)?;
    done();
    end.synchronize()?;
    assert!(end.is_done()?);
    assert!(end.milliseconds_since(&start)? > 0.0);
    done();
    one.synchronize()?;
    two.synchronize()?;
    done();
    Ok(())
}

/// Captures work on one stream, and launches it on two.
pub fn graphs(device: &Device, done: &mut dyn FnMut()) -> Result<()> {
    let (one, two) = (device.stream()?, device.stream()?);
    let mut buffer = Buffer::<u32>::zeroed(device, 100)?;
    let mut copy = Buffer::<u32>::zeroed(device, 100)?;
    done();
    let graph = one.capture(|| {
        copy.copy_from(&one, &buffer)?;
        buffer.fill(&one, 7)
    })?;
    done();
    for round in [1, 2] {
        buffer.fill(&two, round)?;
        // SAFETY: no table was captured, and one thread uses the buffers.
        unsafe { graph.launch(if round == 1 { &one } else { &two })? };
        done();
        assert_eq!(copy.download(&one)?[99], u32::from_ne_bytes([round; 4]));
    }
    drop(graph);
    done();
    joined(device, done)
}

/// A graph of another library.
struct Theirs(usize, FakeDriver);

impl Drop for Theirs {
    fn drop(&mut self) {
        self.1.destroy(self.0);
    }
}

/// Adds work to the graph into which another library captures its stream.
fn joined(device: &Device, done: &mut dyn FnMut()) -> Result<()> {
    let (theirs, ours, driver) = (device.stream()?, device.stream()?, FakeDriver::open());
    let mut buffer = Buffer::<u32>::zeroed(device, 100)?;
    theirs.synchronize()?;
    let handle = handle(&theirs)?;
    // SAFETY: the closure queues nothing on a stream, and a context is current.
    let beside = |work: &dyn Fn()| unsafe { theirs.launch_foreign(|_| (), |(), _| work()) };
    // SAFETY: the stream lives, and the buffer is used by nothing else.
    let not_captured = unsafe { ours.join_capture(handle, || buffer.fill(&ours, 7))? };
    assert!(not_captured.is_none());
    beside(&|| driver.capture(handle))?;
    // SAFETY: as above.
    let captured = unsafe { ours.join_capture(handle, || buffer.fill(&ours, 7)) };
    // SAFETY: as above.
    let refused = unsafe { ours.join_capture(handle, || buffer.download(&ours)) };
    let mut graph = Theirs(0, driver);
    // SAFETY: the closure queues nothing on a stream.
    unsafe { ours.launch_foreign(|_| (), |(), _| graph.0 = graph.1.end_capture(handle))? };
    done();
    if captured.is_ok() && refused.is_err() {
        // SAFETY: what is launched uses the buffer alone.
        unsafe { ours.launch_foreign(|_| (), |(), ours| graph.1.launch(graph.0, ours))? };
        ours.synchronize()?;
        assert_eq!(buffer.download(&ours)?, [0x0707_0707; 100]);
    }
    let address = buffer.address();
    drop(buffer);
    // The graph keeps the memory.
    if captured.is_ok() {
        assert_ne!(Buffer::<u32>::zeroed(device, 100)?.address(), address);
    }
    drop(graph);
    captured.map(drop)?;
    done();
    Ok(())
}

/// Uses memory that stands for another library's, and orders its work with that library's stream.
pub fn foreign(device: &Device, done: &mut dyn FnMut()) -> Result<()> {
    let (theirs, ours) = (device.stream()?, device.stream()?);
    let mut memory = Buffer::<u32>::zeroed(device, 1000)?;
    let mut copy = Buffer::<u32>::zeroed(device, 1000)?;
    device.default_stream().synchronize()?;
    done();
    for round in 1..=3 {
        memory.fill(&theirs, round)?;
        let handle = handle(&theirs)?;
        // SAFETY: the stream lives. Uses of the memory on `theirs` come before the wait, or after
        // the release below.
        unsafe {
            ours.wait_for_foreign(handle)?;
            done();
            let keys = Buffer::<u32>::from_foreign(device, memory.address(), 1000)?;
            copy.copy_from(&ours, &keys)?;
            keys.hand_back(&ours)?;
            done();
            ours.release_to_foreign(handle)?;
            done();
        }
        memory.fill(&theirs, 0)?;
        assert_eq!(copy.download(&ours)?[999], u32::from_ne_bytes([round; 4]));
    }
    done();
    Ok(())
}

/// Returns the driver's handle of a stream.
pub fn handle(stream: &Stream) -> Result<*mut c_void> {
    // SAFETY: the closure queues nothing.
    unsafe { stream.launch_foreign(|_| (), |(), handle| handle) }
}

/// Builds a page map, looks up its keys and builds it again.
pub fn page(device: &Device, done: &mut dyn FnMut()) -> Result<()> {
    let (keys, values) = pairs(0, 200);
    let mut map = PageMap::build(device, &keys, &values)?;
    done();
    assert_eq!(map.get_many(&keys)?, some(&values));
    done();
    assert_eq!(map.contains_many(&[keys[7], 1])?, [true, false]);
    let (keys, values) = pairs(500, 90);
    map.rebuild(&Buffer::from_slice(device, &keys)?, &Buffer::from_slice(device, &values)?)?;
    done();
    assert_eq!(map.get_many(&keys)?, some(&values));
    drop(map);
    done();
    Ok(())
}

/// Loads and saves a small map.
pub fn files(device: &Device, done: &mut dyn FnMut()) -> Result<()> {
    let file = saved_on_the_cpu(100);
    let map = PageMap::<u32, u32>::load(device, &file[..])?;
    done();
    let (keys, values) = pairs(0, 100);
    assert_eq!(map.get_many(&keys)?, some(&values));
    done();
    assert_eq!(saved(&map)?, file);
    done();
    Ok(())
}

/// Returns the file of a page map of `n` pairs that was built on the CPU.
pub fn saved_on_the_cpu(n: u32) -> Vec<u8> {
    let (keys, values) = pairs(0, n);
    let map = PageMap::build(&Device::cpu(), &keys, &values).expect("the CPU has the memory");
    saved(&map).expect("the CPU has the memory")
}

/// Returns the file of a page map.
pub fn saved(map: &PageMap<u32, u32>) -> Result<Vec<u8>> {
    let mut file = Vec::new();
    map.save(&mut file)?;
    Ok(file)
}

/// Grows a linear map by insertions.
pub fn linear(device: &Device, done: &mut dyn FnMut()) -> Result<()> {
    let mut map: LinearMap<u32, u32> = LinearConfig::default().create(device)?;
    done();
    let (keys, values) = pairs(0, 150);
    assert_eq!(map.insert_many(&keys, &values)?, 150);
    done();
    assert_eq!(map.get_many(&keys)?, some(&values));
    assert_eq!(map.remove_many(&keys[..50])?, some(&values[..50]));
    done();
    assert_eq!(map.len(), 100);
    Ok(())
}

/// Grows the directory of an extendible map by insertions.
pub fn extendible(device: &Device, done: &mut dyn FnMut()) -> Result<()> {
    let mut map = small(device)?;
    done();
    let (keys, values) = pairs(0, 150);
    assert_eq!(map.insert_many(&keys, &values)?, 150);
    done();
    assert_eq!(map.get_many(&keys)?, some(&values));
    assert_eq!(map.remove_many(&keys[..140])?, some(&values[..140]));
    done();
    map.shrink_to_fit()?;
    done();
    assert_eq!(map.get_many(&keys[140..])?, some(&values[140..]));
    Ok(())
}

/// Returns an extendible map of the smallest size.
pub fn small(device: &Device) -> Result<ExtendibleMap<u32, u32>> {
    warpnest::ExtendibleConfig::default().segments(1).buckets(4).records(8).seed(1).create(device)
}

/// Counts the rows of a few groups, by kernels that request more shared memory than the default
/// limit.
pub fn few_groups(device: &Device, done: &mut dyn FnMut()) -> Result<()> {
    let stream = device.default_stream();
    let rows: Vec<u32> = (0..700).map(|i| i % 5).collect();
    let keys = Buffer::from_slice(device, &rows)?;
    let mut out = FewBuffers {
        keys: Buffer::zeroed(device, 700)?,
        counts: Some(Buffer::zeroed(device, 700)?),
        sums: None,
        minima: None,
        maxima: None,
    };
    done();
    let mut scratch = Scratch::new(device);
    let column = ColumnParams::unsigned();
    let (few, ..) =
        group_few::<u32, Nothing>(stream, &mut scratch, &keys, None, column, &mut out, (1, HotBlocks::OfSample))?;
    done();
    assert_eq!((few.groups, few.missed), (5, 0));
    let counts = out.counts.as_ref().map_or(Ok(Vec::new()), |counts| counts.download(stream))?;
    assert_eq!(counts[..5], [140; 5]);
    done();
    Ok(())
}
