//! The state and the main loop of a launch.
//!
//! The machine picks warps and lanes at random, runs them, and lets threads that wait for each
//! other continue.

use std::cell::Cell;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::lanes::{File, Group, LANES, Row};
use super::launch::Launch;
use super::run::{Failure, Slice, Stop, Warp, run};
use super::warp_state::{Gait, WarpState};
use crate::code::{Code, Instruction, Special};
use crate::fault::{Fault, Location};
use crate::memory::{Constants, DYNAMIC_START, Problem, Regions, SHARED_START, View};

/// One of a block's sixteen barriers.
#[derive(Clone, Debug, Default)]
pub(super) struct Barrier {
    pub(super) waiting: Vec<u32>,
    pub(super) arrived: u32,
    /// The count of threads that must arrive, or `None` for all.
    pub(super) count: Option<u32>,
}

/// The state of a resident block. The next block reuses it.
#[derive(Debug)]
pub(super) struct Resident {
    block: u32,
    pub(super) live: u32,
    shared: Vec<u128>,
    /// The local memory of all threads of the block.
    local: Vec<u128>,
    pub(super) barriers: [Barrier; 16],
}

/// A launch in progress.
///
/// Indices of warps and threads count through all residents. If the last warp of a block is not
/// full, its unused lanes are counted, too.
pub(crate) struct Machine<'a> {
    code: &'a Code,
    pub(super) launch: &'a Launch<'a>,
    regions: &'a Regions,
    constants: &'a Constants,
    params: Vec<u128>,
    shared_ranges: Vec<(u64, u64)>,
    pub(super) residents: Vec<Resident>,
    next_block: u32,
    files: Vec<Row>,
    pub(super) warps: Vec<WarpState>,
    runnable: Vec<u32>,
    pub(super) random: Xoshiro256PlusPlus,
    steps: u64,
}

thread_local! {
    /// The register files of the last launch, for the next launch. Newly allocated memory would
    /// cost more time than most launches need.
    static FILES: Cell<Vec<Row>> = const { Cell::new(Vec::new()) };
}

impl Drop for Machine<'_> {
    fn drop(&mut self) {
        FILES.set(std::mem::take(&mut self.files));
    }
}

impl<'a> Machine<'a> {
    pub fn new(
        code: &'a Code,
        launch: &'a Launch<'a>,
        params: Vec<u128>,
        regions: &'a Regions,
        constants: &'a Constants,
    ) -> Self {
        let mut shared_ranges = code.shared.clone();
        if code.has_dynamic {
            shared_ranges.push((DYNAMIC_START, DYNAMIC_START + u64::from(launch.dynamic_shared)));
        }
        let shared_bytes = shared_ranges.last().map_or(0, |r| r.1 - SHARED_START);
        let count = launch.grid.min(launch.schedule.concurrent_blocks.max(1));
        let local_words = launch.threads as usize * code.local_bytes.div_ceil(16) as usize;
        let resident = || Resident {
            block: 0,
            live: 0,
            shared: vec![0; shared_bytes.div_ceil(16) as usize],
            local: vec![0; local_words],
            barriers: Default::default(),
        };
        let warps_of_block = launch.threads.div_ceil(LANES);
        let warp = |number: u32| WarpState::of(launch.threads - number % warps_of_block * LANES);
        let warps: Vec<WarpState> = (0..count * warps_of_block).map(warp).collect();
        let mut files = FILES.take();
        files.resize(warps.len() * code.registers as usize, Row::default());
        for file in files.chunks_exact_mut(code.registers as usize) {
            for &(slot, value) in &code.constants {
                file[slot as usize] = Row::all(value);
            }
        }
        Machine {
            code,
            launch,
            regions,
            constants,
            params,
            shared_ranges,
            residents: (0..count).map(|_| resident()).collect(),
            next_block: 0,
            files,
            runnable: Vec::with_capacity(warps.len()),
            warps,
            random: Xoshiro256PlusPlus::seed_from_u64(launch.schedule.seed),
            steps: 0,
        }
    }

    /// Runs all blocks, and returns the count of executed instructions.
    pub fn run(mut self) -> Result<u64, Fault> {
        for r in 0..self.residents.len() {
            self.start_block(r);
        }
        let longest = self.launch.schedule.longest_slice.max(1);
        while !self.runnable.is_empty() {
            let random = self.random.next_u64();
            let pick = (((random >> 32) * self.runnable.len() as u64) >> 32) as usize;
            let length = 1 + (((random & 0xffff_ffff) * u64::from(longest)) >> 32) as u32;
            let w = self.runnable[pick];
            let (group, until) = self.warps[w as usize].choose(self.random.next_u64() as u32);
            let lanes = u64::from(group.mask.count_ones());
            let left = self.launch.step_limit.saturating_sub(self.steps).div_ceil(lanes).min(length.into()) as u32;
            if left == 0 {
                let at = self.location(w * LANES + group.mask.trailing_zeros());
                return Err(Fault::StepLimit { at, limit: self.launch.step_limit });
            }
            match self.slice(w, group, Slice { left, until, clock: self.steps })? {
                Stop::Slice => {}
                Stop::Done => self.finished(w, group.mask),
                Stop::Together => self.wait(w, group.mask)?,
            }
            // Lanes at `activemask` need not wait for all other lanes, so they continue after a
            // random time.
            let warp = &self.warps[w as usize];
            if warp.gathering != 0 && (warp.running == 0 || random & 7 == 0) {
                self.release_gathered(w);
            }
            let warp = &mut self.warps[w as usize];
            if warp.running == 0 {
                warp.listed = false;
                self.runnable.swap_remove(pick);
            }
        }
        let undone = |warp: &WarpState| warp.lanes & !warp.done;
        let Some(first) = self.warps.iter().position(|warp| undone(warp) != 0) else { return Ok(self.steps) };
        let lane = undone(&self.warps[first]).trailing_zeros();
        let waiting = self.warps.iter().map(|warp| undone(warp).count_ones() as usize).sum();
        Err(Fault::Deadlock { at: self.location(first as u32 * LANES + lane), waiting })
    }

    pub(super) fn start_block(&mut self, r: usize) {
        if self.next_block == self.launch.grid {
            return;
        }
        let resident = &mut self.residents[r];
        resident.block = self.next_block;
        resident.live = self.launch.threads;
        self.next_block += 1;
        // Unwritten memory is filled with random bits, so that it does not look meaningful.
        for &(start, end) in &self.shared_ranges {
            let words = ((start - SHARED_START) / 16) as usize..(end - SHARED_START).div_ceil(16) as usize;
            for word in &mut resident.shared[words] {
                *word = u128::from(self.random.next_u64()) << 64 | u128::from(self.random.next_u64());
            }
        }
        for word in &mut resident.local {
            *word = u128::from(self.random.next_u64()) << 64 | u128::from(self.random.next_u64());
        }
        for barrier in &mut resident.barriers {
            *barrier = Barrier::default();
        }
        let block = resident.block;
        let (warps, launch) = (self.warps_of_block(), self.launch);
        for number in 0..warps {
            let w = r as u32 * warps + number;
            let gait = Gait::of(self.random.next_u64());
            let file = file(&mut self.files, self.code, w);
            for &(slot, what) in &self.code.specials {
                file[slot as usize] = Row::of(|lane| special(what, number * LANES + lane, block, launch).into());
            }
            for &slot in &self.code.zeroed {
                file[slot as usize] = Row::all(0);
            }
            let warp = &mut self.warps[w as usize];
            warp.pcs = [0; LANES as usize];
            (warp.running, warp.done) = (warp.lanes, 0);
            warp.gait = gait;
            self.list(w);
        }
    }

    /// Chooses a new random gait for the lanes of a warp.
    pub(super) fn change_gait(&mut self, w: u32) {
        self.warps[w as usize].gait = Gait::of(self.random.next_u64());
    }

    /// Adds a warp to `runnable`.
    pub(super) fn list(&mut self, w: u32) {
        let warp = &mut self.warps[w as usize];
        if !warp.listed {
            warp.listed = true;
            self.runnable.push(w);
        }
    }

    fn slice(&mut self, w: u32, group: Group, mut slice: Slice) -> Result<Stop, Fault> {
        let warps = self.warps_of_block();
        let resident = &mut self.residents[(w / warps) as usize];
        let state = &mut self.warps[w as usize];
        let local_words = resident.local.len() / self.launch.threads as usize;
        let first = (w % warps * LANES) as usize;
        let memory = View {
            global: self.regions,
            recent: (1, 0),
            constants: self.constants,
            shared_ranges: &self.shared_ranges,
            shared: &mut resident.shared,
            local: &mut resident.local[first * local_words..],
            local_words,
            lane: 0,
            params: &mut self.params,
        };
        let file = File(file(&mut self.files, self.code, w));
        let (code, random) = (self.code, &mut self.random);
        let mut warp = Warp { code, file, pcs: &mut state.pcs, lanes: state.lanes, memory, random };
        let length = slice.left;
        let stop = run(&mut warp, group, &mut slice);
        self.steps += u64::from(length - slice.left) * u64::from(group.mask.count_ones());
        stop.map_err(|(lane, failure)| {
            let at = self.location(w * LANES + lane);
            match failure {
                Failure::Trap => Fault::Trap { at },
                Failure::Memory(Problem::OutOfBounds { space, address, bytes }) => {
                    Fault::OutOfBounds { at, space, address, bytes }
                }
                Failure::Memory(Problem::Misaligned { space, address, bytes }) => {
                    Fault::Misaligned { at, space, address, bytes }
                }
            }
        })
    }

    pub(super) fn warps_of_block(&self) -> u32 {
        self.launch.threads.div_ceil(LANES)
    }

    /// Returns the resident block that a thread belongs to.
    pub(super) fn resident(&self, t: u32) -> usize {
        (t / LANES / self.warps_of_block()) as usize
    }

    pub(super) fn location(&self, t: u32) -> Box<Location> {
        let (line, instruction) = self.statement(t);
        Box::new(Location {
            entry: self.launch.entry.to_string(),
            block: self.residents[self.resident(t)].block,
            thread: t % (self.warps_of_block() * LANES),
            line,
            instruction,
        })
    }

    pub(super) fn pc(&self, t: u32) -> u32 {
        self.warps[(t / LANES) as usize].pcs[(t % LANES) as usize]
    }

    pub(super) fn statement(&self, t: u32) -> (u32, String) {
        self.code.statements[self.code.statement_of[self.pc(t) as usize] as usize].clone()
    }

    pub(super) fn instruction(&self, t: u32) -> &'a Instruction {
        &self.code.instructions[self.pc(t) as usize]
    }

    pub(super) fn get(&self, t: u32, slot: u32) -> u64 {
        self.files[(t / LANES * self.code.registers + slot) as usize].get(t % LANES)
    }

    pub(super) fn set(&mut self, t: u32, slot: u32, value: u64) {
        file(&mut self.files, self.code, t / LANES)[slot as usize].set(t % LANES, value);
    }

    /// Returns the registers of a warp, and the random number generator.
    pub(super) fn file(&mut self, w: u32) -> (File<'_>, &mut Xoshiro256PlusPlus) {
        (File(file(&mut self.files, self.code, w)), &mut self.random)
    }
}

/// Returns the registers of a warp.
fn file<'f>(files: &'f mut [Row], code: &Code, w: u32) -> &'f mut [Row] {
    let stride = code.registers as usize;
    &mut files[w as usize * stride..][..stride]
}

fn special(what: Special, thread: u32, block: u32, launch: &Launch) -> u32 {
    let lane = thread % 32;
    match what {
        Special::Thread => thread,
        Special::Threads => launch.threads,
        Special::Block => block,
        Special::Blocks => launch.grid,
        Special::Lane => lane,
        Special::Warp => thread / 32,
        Special::Warps => launch.threads.div_ceil(32),
        Special::MaskEqual => 1 << lane,
        Special::MaskLess => (1 << lane) - 1,
        Special::MaskLessEqual => u32::MAX >> (31 - lane),
        Special::MaskGreater => !(u32::MAX >> (31 - lane)),
        Special::MaskGreaterEqual => !((1 << lane) - 1),
        Special::DynamicShared => launch.dynamic_shared,
    }
}
