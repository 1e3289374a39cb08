//! A context, which has memory, modules, streams and events.

use std::collections::BTreeMap;

use ptx_tools::{Fault, Launch, Module, Regions, Schedule};

use crate::answer::{Answer, code};
use crate::stream::{Event, Graph, Object, Stream};
use crate::{CAPABILITIES, TOTAL_MEMORY};

/// The alignment of every allocation.
const ALIGNMENT: usize = 256;

/// An allocation of device memory, or of page-locked memory.
pub(crate) struct Allocation {
    /// The memory, with extra bytes, so that the address can be rounded up.
    words: Vec<u128>,
    bytes: usize,
}

impl Allocation {
    fn new(bytes: usize, number: usize) -> Self {
        // The words are not zeros, because unwritten memory has unspecified contents.
        let pattern = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834u128.wrapping_mul(2 * number as u128 + 1);
        Self { words: vec![pattern; (bytes + ALIGNMENT).div_ceil(16)], bytes }
    }

    fn address(&self) -> usize {
        self.words.as_ptr().expose_provenance().next_multiple_of(ALIGNMENT)
    }
}

pub(crate) struct Context {
    pub handle: usize,
    pub device: usize,
    /// The code that every call returns, if it is not 0.
    pub lost: u32,
    pub memory: BTreeMap<usize, Allocation>,
    pub pinned: BTreeMap<usize, Allocation>,
    pub modules: BTreeMap<usize, Module>,
    /// The module and the name of each function.
    pub functions: BTreeMap<usize, (usize, String)>,
    /// The most dynamic shared memory that launches of a function may request, if it was set.
    pub dynamic_shared: BTreeMap<usize, u32>,
    pub streams: BTreeMap<usize, Stream>,
    pub events: BTreeMap<usize, Event>,
    pub graphs: BTreeMap<usize, Graph>,
    pub objects: BTreeMap<usize, Object>,
    pub regions: Regions,
    launches: u64,
    allocations: usize,
    /// The faults of kernels in this context.
    pub faults: Vec<Fault>,
}

impl Context {
    pub fn new(handle: usize, device: usize) -> Self {
        Self {
            handle,
            device,
            lost: 0,
            memory: BTreeMap::new(),
            pinned: BTreeMap::new(),
            modules: BTreeMap::new(),
            functions: BTreeMap::new(),
            dynamic_shared: BTreeMap::new(),
            // Handle 0 is the default stream.
            streams: BTreeMap::from([(0, Stream::default())]),
            events: BTreeMap::new(),
            graphs: BTreeMap::new(),
            objects: BTreeMap::new(),
            regions: Regions::new(),
            launches: 0,
            allocations: 0,
            faults: Vec::new(),
        }
    }

    /// Returns an event, unless it was destroyed.
    pub fn event(&mut self, handle: usize) -> Option<&mut Event> {
        self.events.get_mut(&handle).filter(|event| !event.destroyed)
    }

    /// Removes a graph. Objects that nothing keeps any more are dropped.
    pub fn destroy(&mut self, graph: usize) -> bool {
        let Some(graph) = self.graphs.remove(&graph) else { return false };
        graph.objects.into_iter().for_each(|object| self.release_object(object));
        true
    }

    /// Removes a reference to an object.
    pub fn release_object(&mut self, handle: usize) {
        let Some(object) = self.objects.get_mut(&handle) else { return };
        object.references -= 1;
        if object.references == 0 {
            // SAFETY: the program gave both to the driver, which calls the function once.
            unsafe { (object.drop)(object.value) };
            self.objects.remove(&handle);
        }
    }

    /// Returns the bytes that can still be allocated.
    pub fn free(&self) -> usize {
        TOTAL_MEMORY.saturating_sub(self.memory.values().map(|allocation| allocation.bytes).sum())
    }

    pub fn allocate(&mut self, bytes: usize, pinned: bool) -> Answer<usize> {
        if bytes == 0 {
            return Err(code::INVALID_VALUE);
        }
        if bytes > self.free() {
            return Err(code::OUT_OF_MEMORY);
        }
        self.allocations += 1;
        let allocation = Allocation::new(bytes, self.allocations);
        let address = allocation.address();
        // SAFETY: the words are initialised, and do not move until `release` removes the region.
        // The driver's lock prevents other accesses while a kernel runs.
        unsafe { self.regions.insert(address, bytes) };
        let allocations = if pinned { &mut self.pinned } else { &mut self.memory };
        allocations.insert(address, allocation);
        Ok(address)
    }

    pub fn release(&mut self, address: usize, pinned: bool) -> Answer {
        let allocations = if pinned { &mut self.pinned } else { &mut self.memory };
        self.regions.remove(address);
        allocations.remove(&address).map(drop).ok_or(code::INVALID_VALUE)
    }

    /// Returns whether this range of bytes lies in one allocation of device memory.
    pub fn holds(&self, address: usize, bytes: usize) -> bool {
        are_in(&self.memory, address, bytes)
    }

    /// Returns whether this range of bytes lies in one allocation of page-locked memory.
    pub fn locks(&self, address: usize, bytes: usize) -> bool {
        are_in(&self.pinned, address, bytes)
    }

    /// Returns the compute capability of the device.
    pub fn capability(&self) -> (i32, i32) {
        CAPABILITIES[self.device].0
    }

    /// Compiles PTX, as far as the interpreter does. The error has the result code and the
    /// compiler's log.
    pub fn load(&mut self, handle: usize, ptx: &str) -> Result<(), (u32, String)> {
        let module = Module::parse(ptx).map_err(|error| (code::INVALID_PTX, error.to_string()))?;
        let number = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0u32);
        let mut version = module.version.split('.').map(number);
        let version = (version.next().unwrap_or(0), version.next().unwrap_or(0));
        let ((major, minor), newest) = CAPABILITIES[self.device];
        if version > newest || number(&module.target) > (10 * major + minor) as u32 {
            let log = format!("ptxas: Unsupported .version {} or .target {}", module.version, module.target);
            return Err((code::UNSUPPORTED_PTX_VERSION, log));
        }
        for entry in &module.entries {
            let zeros: Vec<Vec<u8>> = entry.params.iter().map(|param| vec![0; param.size]).collect();
            let zeros: Vec<&[u8]> = zeros.iter().map(Vec::as_slice).collect();
            // With no blocks, the kernel is decoded but does not run.
            let decoded = module.launch(&entry.name, 0, 1, &zeros, &Regions::new(), Schedule::default());
            decoded.map_err(|fault| (code::INVALID_PTX, fault.to_string()))?;
        }
        self.modules.insert(handle, module);
        Ok(())
    }

    /// Runs a kernel until it ends.
    pub fn run(&mut self, function: usize, [blocks, threads, shared]: [u32; 3], arguments: &[Vec<u8>]) -> Answer {
        let (module, name) = self.functions.get(&function).ok_or(code::INVALID_HANDLE)?;
        let module = self.modules.get(module).ok_or(code::INVALID_HANDLE)?;
        let arguments: Vec<&[u8]> = arguments.iter().map(Vec::as_slice).collect();
        let schedule = Schedule { seed: self.launches, longest_slice: 40, concurrent_blocks: 3 };
        self.launches += 1;
        let launch = Launch { schedule, dynamic_shared: shared, ..Launch::new(name, blocks, threads) };
        let done = module.launch_with(&launch, &arguments, &self.regions).map(drop);
        done.map_err(|fault| {
            self.faults.push(fault);
            code::ILLEGAL_ADDRESS
        })
    }
}

/// Returns whether this range of bytes lies in one of the allocations.
fn are_in(allocations: &BTreeMap<usize, Allocation>, address: usize, bytes: usize) -> bool {
    allocations.range(..=address).next_back().is_some_and(|(start, allocation)| {
        address.checked_add(bytes).is_some_and(|end| end <= start + allocation.bytes)
    })
}
