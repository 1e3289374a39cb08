//! Tests of the operations that a batch queues, on an engine that logs every call.

use super::*;
use crate::runtime::allocation::{Allocation, Owner, Tracked};
use crate::runtime::buffer::Buffer;
use crate::runtime::engine::{Memory, QueueEvent};
use crate::{Error, InputError};
use gpu_kernels::primitives::iota::{Iota, IotaParams};
use gpu_kernels::seam::{Global, Kernel};
use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize;

/// The log of all calls of an engine's queues.
#[derive(Clone, Debug, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn add(&self, entry: String) -> Result<()> {
        self.0.lock().unwrap().push(entry);
        Ok(())
    }

    /// Returns all entries, and removes them.
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// An engine whose addresses have no memory, and whose queues only log their calls.
#[derive(Debug, Default)]
struct Idle {
    log: Log,
    queues: AtomicUsize,
    addresses: AtomicUsize,
}

// SAFETY: no memory is ever accessed.
unsafe impl Engine for Idle {
    fn name(&self) -> &str {
        "idle engine"
    }
    fn memory(&self) -> Result<Memory> {
        Ok(Memory { total: 0, free: 0 })
    }
    fn allocate(&self, _bytes: usize) -> Result<usize> {
        Ok(256 * (1 + self.addresses.fetch_add(1, Ordering::Relaxed)))
    }
    unsafe fn free(&self, _address: usize, _bytes: usize) {}
    fn queue(&self) -> Result<Box<dyn Queue>> {
        Ok(Box::new(IdleQueue { log: self.log.clone(), number: self.queues.fetch_add(1, Ordering::Relaxed) }))
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[derive(Debug)]
struct IdleQueue {
    log: Log,
    number: usize,
}

impl Queue for IdleQueue {
    fn foreign(&self, work: &mut dyn FnMut(*mut c_void)) -> Result<()> {
        work(std::ptr::without_provenance_mut(self.number + 1));
        self.log.add(format!("{} lets others queue", self.number))
    }
    unsafe fn upload(&self, _from: &[u8], _to: usize) -> Result<()> {
        self.log.add(format!("{} uploads", self.number))
    }
    unsafe fn download(&self, _from: usize, _to: &mut [u8]) -> Result<()> {
        self.log.add(format!("{} downloads", self.number))
    }
    unsafe fn copy(&self, _from: usize, _to: usize, _bytes: usize) -> Result<()> {
        self.log.add(format!("{} copies", self.number))
    }
    unsafe fn fill(&self, _at: usize, _byte: u8, _bytes: usize) -> Result<()> {
        self.log.add(format!("{} fills", self.number))
    }
    unsafe fn launch(&self, _kernel: &dyn Kernel, blocks: u32) -> Result<()> {
        self.log.add(format!("{} launches {blocks}", self.number))
    }
    fn record(&self, _timed: bool) -> Result<Arc<dyn QueueEvent>> {
        self.log.add(format!("{} records", self.number))?;
        Ok(Arc::new(IdleEvent(self.number)))
    }
    fn wait(&self, queue_event: &dyn QueueEvent) -> Result<()> {
        let event: &IdleEvent = queue_event.as_any().downcast_ref().unwrap();
        self.log.add(format!("{} waits for {}", self.number, event.0))
    }
    fn synchronize(&self) -> Result<()> {
        self.log.add(format!("{} is waited for", self.number))
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// An event of the queue with this index.
#[derive(Debug)]
struct IdleEvent(usize);

impl QueueEvent for IdleEvent {
    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
    fn is_done(&self) -> Result<bool> {
        Ok(false)
    }
    fn milliseconds_since(&self, _earlier: &dyn QueueEvent) -> Result<f64> {
        Ok(0.0)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Returns an engine, three streams on it that have used memory, and its log.
fn world() -> (Arc<dyn Engine>, [Stream; 3], Log) {
    let (engine, streams, log) = new_world();
    streams.iter().for_each(|stream| use_on(stream, &buffer(&engine), true));
    log.take();
    (engine, streams, log)
}

/// Returns an engine, three new streams on it, and its log.
fn new_world() -> (Arc<dyn Engine>, [Stream; 3], Log) {
    let engine = Idle::default();
    let log = engine.log.clone();
    let engine: Arc<dyn Engine> = Arc::new(engine);
    let shared = Shared::new(engine.clone(), None);
    let streams = [(); 3].map(|()| Stream::new(&shared).unwrap());
    (engine, streams, log)
}

fn buffer(engine: &Arc<dyn Engine>) -> Buffer<u32> {
    let address = engine.allocate(32).unwrap();
    Buffer::from_allocation(Allocation::new(engine.clone(), address, 32, Owner::Engine), 8)
}

/// Returns a kernel that writes eight words.
fn numbers(output: Global<u32>) -> Iota {
    Iota { output, plan: IotaParams { items: 8, first: 0, padding: 0 } }
}

/// Queues work that reads or writes a buffer.
fn use_on(stream: &Stream, buffer: &Buffer<u32>, written: bool) {
    let used = stream.batch(|batch| {
        if written {
            batch.writes(buffer)
        } else {
            batch.reads(buffer)
        };
        Ok(())
    });
    used.unwrap();
}

#[test]
fn a_read_waits_for_the_last_write_of_another_stream_and_a_write_for_the_reads_since_too() {
    let (engine, [a, b, c], log) = world();
    let mut words = buffer(&engine);
    // SAFETY: no kernel runs.
    unsafe { a.launch(8, |uses| numbers(uses.write(&mut words))) }.unwrap();
    assert_eq!(log.take(), ["0 launches 1", "0 records"]);
    // SAFETY: no kernel runs.
    unsafe { b.launch(8, |uses| numbers(uses.read(&words))) }.unwrap();
    assert_eq!(log.take(), ["1 waits for 0", "1 launches 1", "1 records"]);
    // SAFETY: no kernel runs.
    unsafe { c.launch(8, |uses| numbers(uses.write(&mut words))) }.unwrap();
    assert_eq!(log.take(), ["2 waits for 0", "2 waits for 1", "2 launches 1", "2 records"]);
    // SAFETY: no kernel runs.
    unsafe { c.launch_dyn(8, |uses| Box::new(numbers(uses.read(&words)))) }.unwrap();
    assert_eq!(log.take(), ["2 launches 1", "2 records"], "work of one stream is in order");
}

#[test]
fn a_stream_alone_records_an_event_only_when_something_waits_for_its_work() {
    let engine = Idle::default();
    let log = engine.log.clone();
    let engine: Arc<dyn Engine> = Arc::new(engine);
    let shared = Shared::new(engine.clone(), None);
    let a = Stream::new(&shared).unwrap();
    let (early, late) = (buffer(&engine), buffer(&engine));
    use_on(&a, &early, true);
    use_on(&a, &early, true);
    assert_eq!(log.take(), [""; 0]);
    let b = Stream::new(&shared).unwrap();
    use_on(&b, &early, false);
    assert_eq!(log.take(), ["0 records", "1 waits for 0", "1 records"], "the event comes before the wait");
    use_on(&b, &early, false);
    assert_eq!(log.take(), ["1 waits for 0", "1 records"], "it is recorded once");
    use_on(&a, &late, true);
    assert_eq!(log.take(), ["0 records"], "another stream may wait for this work");
    drop(b);
    use_on(&a, &late, true);
    assert_eq!(log.take(), [""; 0], "the stream is alone again");
    late.allocation().quiesce().unwrap();
    assert_eq!(log.take(), ["0 records"]);
    use_on(&a, &late, true);
    use_on(&Stream::new(&shared).unwrap(), &late, true);
    assert_eq!(log.take(), ["0 records", "2 waits for 0", "2 records"], "work after an event gets a new one");
}

#[test]
fn other_streams_count_from_their_first_use_of_memory() {
    let (engine, [a, b, _c], log) = new_world();
    let (one, two) = (buffer(&engine), buffer(&engine));
    use_on(&a, &one, true);
    assert!(log.take().is_empty());
    use_on(&b, &two, true);
    assert_eq!(log.take(), ["1 records"]);
    use_on(&a, &one, true);
    assert_eq!(log.take(), ["0 records"]);
}

#[test]
fn a_stream_that_records_by_call_does_so_once_and_only_for_memory_that_is_left() {
    let (engine, [a, b, _c], log) = world();
    a.record_by_call();
    let (one, two) = (buffer(&engine), buffer(&engine));
    for used in [&one, &two, &one] {
        use_on(&a, used, true);
    }
    assert!(log.take().is_empty());
    a.end_call().unwrap();
    a.end_call().unwrap();
    assert_eq!(log.take(), ["0 records"]);
    // Another stream's work in between records at once.
    use_on(&a, &two, true);
    use_on(&b, &two, true);
    assert_eq!(log.take(), ["0 records", "1 waits for 0", "1 records"]);
    a.end_call().unwrap();
    assert!(log.take().is_empty());
}

#[test]
fn what_the_host_has_waited_for_is_forgotten() {
    let (engine, [a, b, c], log) = world();
    let words = buffer(&engine);
    for written in [true, false] {
        use_on(&b, &words, true);
        use_on(&c, &words, false);
        log.take();
        let ended = a.batch(|batch| {
            if written {
                batch.writes(&words);
            } else {
                batch.reads(&words);
            }
            // SAFETY: no memory is accessed.
            unsafe { batch.download(words.at(), &mut [0; 4]) }
        });
        ended.unwrap();
        // A read does not wait for the read of the third stream.
        assert_eq!(log.take().len(), if written { 3 } else { 2 });
        use_on(&a, &words, true);
        let waits = if written { vec!["0 records"] } else { vec!["0 waits for 2", "0 records"] };
        assert_eq!(log.take(), waits, "a read has not waited for reads");
    }
}

#[test]
fn memory_behind_addresses_is_waited_for_as_well() {
    let (engine, [a, b, c], log) = world();
    let (mut output, mut written, read) = (buffer(&engine), buffer(&engine), buffer(&engine));
    use_on(&a, &read, true);
    use_on(&b, &written, false);
    log.take();
    let launched = |output: &mut Buffer<u32>, written: &mut Buffer<u32>| {
        // SAFETY: no kernel runs.
        unsafe {
            c.launch(8, |uses| {
                uses.reads(&read);
                uses.writes(written);
                numbers(uses.write(output))
            })
        }
    };
    launched(&mut output, &mut written).unwrap();
    assert_eq!(log.take(), ["2 waits for 0", "2 waits for 1", "2 launches 1", "2 records"]);
    use_on(&a, &written, false);
    assert_eq!(log.take(), ["0 waits for 2", "0 records"]);
}

#[test]
fn a_buffer_that_a_batch_reads_and_then_writes_is_waited_for_as_by_a_writer() {
    let (engine, [a, b, c], log) = world();
    let words = buffer(&engine);
    use_on(&a, &words, true);
    use_on(&c, &words, false);
    log.take();
    let steps = b.batch(|batch| {
        // SAFETY: no kernel runs.
        unsafe { batch.launch(&numbers(batch.read(&words)), 8)? };
        batch.read(&words);
        batch.zero(&words, 8)?;
        // The batch has recorded both uses by now.
        batch.write(&words);
        batch.read(&words);
        batch.zero(&words, 8)
    });
    steps.unwrap();
    let upgraded =
        ["1 waits for 0", "1 launches 1", "1 waits for 0", "1 waits for 2", "1 fills", "1 fills", "1 records"];
    assert_eq!(log.take(), upgraded);
    // Other streams wait for this batch as for a write.
    use_on(&a, &words, false);
    assert_eq!(log.take(), ["0 waits for 1", "0 records"]);
}

#[test]
fn after_a_buffer_of_another_device_nothing_is_launched_and_its_events_are_as_they_were() {
    let (engine, [a, b, _], log) = world();
    let (elsewhere, [theirs, others, _], their_log) = world();
    let (ours, foreign, late) = (buffer(&engine), buffer(&elsewhere), buffer(&engine));
    use_on(&theirs, &foreign, true);
    use_on(&b, &ours, true);
    log.take();
    their_log.take();
    let steps = a.batch(|batch| {
        let output = batch.write(&ours);
        // SAFETY: no kernel runs.
        unsafe { batch.launch(&numbers(output), 8)? };
        batch.read(&foreign);
        // The following steps ignore the errors of earlier ones, and are not queued either. SAFETY:
        // no kernel runs.
        assert!(unsafe { batch.launch(&numbers(output), 8) }.is_err());
        assert!(batch.zero(&late, 8).is_err());
        assert!(batch.copy(&late, 0..4, &ours).is_err());
        assert!(batch.record().is_err());
        Ok(())
    });
    assert!(matches!(steps, Err(Error::WrongDevice { what: "a buffer", .. })), "{steps:?}");
    // The step before the error has its event.
    assert_eq!(log.take(), ["0 waits for 1", "0 launches 1", "0 records"]);
    assert_eq!(their_log.take(), [""; 0]);
    use_on(&b, &ours, false);
    use_on(&b, &late, false);
    assert_eq!(log.take(), ["1 waits for 0", "1 records", "1 records"]);
    use_on(&others, &foreign, false);
    assert_eq!(their_log.take(), ["1 waits for 0", "1 records"]);
}

#[test]
fn a_launch_with_a_buffer_of_another_device_does_nothing() {
    let (_, [a, ..], log) = world();
    let mut foreign = buffer(&world().0);
    // SAFETY: no kernel runs.
    let launched = unsafe { a.launch(8, |uses| numbers(uses.write(&mut foreign))) };
    assert!(matches!(launched, Err(Error::WrongDevice { .. })));
    assert_eq!(log.take(), [""; 0]);
}

#[test]
fn a_batch_that_panics_is_waited_for_on_the_spot() {
    let (engine, [a, ..], log) = world();
    let words = buffer(&engine);
    let steps = AssertUnwindSafe(|| {
        a.batch(|batch| -> Result<()> {
            batch.zero(&words, 8)?;
            panic!("on purpose")
        })
    });
    assert!(catch_unwind(steps).is_err());
    assert_eq!(log.take(), ["0 fills", "0 is waited for"]);
}

#[test]
#[should_panic(expected = "of a buffer of 32")]
fn bytes_beside_a_buffer_are_not_filled() {
    let (engine, [a, ..], _) = world();
    let words = buffer(&engine);
    let _ = a.batch(|batch| batch.zero_range(&words, 0..9));
}

#[test]
fn work_with_a_part_waits_and_is_waited_for_as_work_with_the_whole() {
    let (engine, [a, b, c], log) = world();
    let mut words = buffer(&engine);
    let mut back = words.slice_mut(4..).unwrap();
    // SAFETY: no kernel runs.
    unsafe { a.launch(4, |uses| numbers(uses.write(&mut back))) }.unwrap();
    let front = words.slice(..4).unwrap();
    // SAFETY: no kernel runs.
    unsafe { b.launch(4, |uses| numbers(uses.read(&front))) }.unwrap();
    assert_eq!(log.take(), ["0 launches 1", "0 records", "1 waits for 0", "1 launches 1", "1 records"]);
    use_on(&c, &words, true);
    assert_eq!(log.take(), ["2 waits for 0", "2 waits for 1", "2 records"]);
    let (mut front, back) = words.split_at_mut(4).unwrap();
    // SAFETY: no kernel runs.
    unsafe {
        a.launch(4, |uses| {
            uses.reads(&back);
            numbers(uses.write(&mut front))
        })
    }
    .unwrap();
    assert_eq!(
        log.take(),
        ["0 waits for 2", "0 waits for 2", "0 launches 1", "0 records"],
        "it reads before it writes"
    );
}

#[test]
fn two_parts_that_are_written_at_the_same_time_are_both_waited_for() {
    let (engine, [a, b, c], log) = world();
    let mut words = buffer(&engine);
    use_on(&c, &words, true);
    log.take();
    let (front, back) = words.split_at_mut(4).unwrap();
    // The second batch is queued while the first batch is being queued, as if by another thread.
    let queued = a.batch(|batch| {
        batch.writes(&front);
        use_on(&b, &back, true);
        Ok(())
    });
    queued.unwrap();
    assert_eq!(log.take(), ["0 waits for 2", "1 waits for 2", "1 records", "0 records"]);
    use_on(&c, &words, false);
    assert_eq!(log.take(), ["2 waits for 1", "2 waits for 0", "2 records"]);
    // Later work waits only for a write after both.
    use_on(&c, &words, true);
    log.take();
    use_on(&a, &words, true);
    assert_eq!(log.take(), ["0 waits for 2", "0 records"]);
}

#[test]
fn a_part_that_kernels_cannot_read_is_not_launched_with() {
    let (engine, [a, ..], log) = world();
    let mut words = buffer(&engine);
    let address = words.address() as u64;
    for start in 1..4 {
        let mut part = words.slice_mut(start..).unwrap();
        // SAFETY: no kernel runs.
        let launched = unsafe { a.launch(4, |uses| numbers(uses.write(&mut part))) };
        let address = address + 4 * start as u64;
        assert_eq!(launched, Err(Error::Input(InputError::Misaligned { address, alignment: 16 })));
        let mut none = words.slice_mut(start..start).unwrap();
        // SAFETY: no kernel runs, and the launch has no threads.
        unsafe { a.launch(0, |uses| numbers(uses.write(&mut none))) }.unwrap();
    }
    assert!(!log.take().iter().any(|entry| entry.contains("launches")));
}
