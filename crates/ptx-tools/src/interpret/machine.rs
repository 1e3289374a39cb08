//! The blocks in flight: picks threads at random, runs them, and lets those that wait for each other go on.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::Launch;
use super::run::{Failure, Stop, run};
use crate::code::{Code, Instruction, Special};
use crate::fault::{Fault, Place};
use crate::memory::{Constants, DYNAMIC_START, Problem, Regions, SHARED_START, View};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Running,
    /// At a warp operation.
    Warp,
    /// At `activemask`.
    Gathering,
    /// At a barrier.
    Barrier,
    Done,
}

/// One of a block's sixteen barriers.
#[derive(Clone, Debug, Default)]
pub(super) struct Barrier {
    pub(super) waiting: Vec<u32>,
    pub(super) arrived: u32,
    /// How many must arrive, if not all.
    pub(super) count: Option<u32>,
}

/// A place for a block to run in.
#[derive(Debug)]
pub(super) struct Resident {
    block: u32,
    pub(super) live: u32,
    shared: Vec<u128>,
    /// Local memory of all its threads.
    local: Vec<u128>,
    pub(super) barriers: [Barrier; 16],
}

/// A launch under way. Threads are numbered through all residents.
pub(crate) struct Machine<'a> {
    code: &'a Code,
    pub(super) launch: &'a Launch<'a>,
    regions: &'a Regions,
    constants: &'a Constants,
    params: Vec<u128>,
    shared_ranges: Vec<(u64, u64)>,
    pub(super) residents: Vec<Resident>,
    next_block: u32,
    files: Vec<u64>,
    pub(super) pcs: Vec<u32>,
    pub(super) states: Vec<State>,
    pub(super) runnable: Vec<u32>,
    /// Lanes at `activemask`.
    pub(super) gathering: u32,
    pub(super) random: Xoshiro256PlusPlus,
    steps: u64,
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
        let threads = count as usize * launch.threads as usize;
        Machine {
            code,
            launch,
            regions,
            constants,
            params,
            shared_ranges,
            residents: (0..count).map(|_| resident()).collect(),
            next_block: 0,
            files: vec![0; threads * code.template.len()],
            pcs: vec![0; threads],
            states: vec![State::Done; threads],
            runnable: Vec::with_capacity(threads),
            gathering: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(launch.schedule.seed),
            steps: 0,
        }
    }

    /// Runs all blocks; gives the number of instructions executed.
    pub fn run(mut self) -> Result<u64, Fault> {
        for r in 0..self.residents.len() {
            self.start_block(r);
        }
        let longest = self.launch.schedule.longest_slice.max(1);
        while !self.runnable.is_empty() {
            let random = self.random.next_u64();
            let pick = (((random >> 32) * self.runnable.len() as u64) >> 32) as usize;
            let slice = 1 + (((random & 0xffff_ffff) * u64::from(longest)) >> 32) as u32;
            let t = self.runnable[pick];
            let slice = self.launch.step_limit.saturating_sub(self.steps).min(slice.into()) as u32;
            if slice == 0 {
                return Err(Fault::StepLimit { at: self.place(t), limit: self.launch.step_limit });
            }
            match self.slice(t, slice)? {
                Stop::Slice => {
                    // Lanes gathered at `activemask` need not wait for all others: they go on at some time.
                    if self.gathering > 0 && random & 7 == 0 {
                        self.release_gathered(t);
                    }
                    continue;
                }
                Stop::Done => {
                    self.leave(pick, State::Done);
                    self.finished(t);
                }
                Stop::Together => self.wait(pick, t)?,
            }
            if self.gathering > 0 && !self.lanes(t).any(|l| self.states[l as usize] == State::Running) {
                self.release_gathered(t);
            }
        }
        let mut waiting = (0..self.states.len()).filter(|&t| self.states[t] != State::Done);
        match waiting.next() {
            None => Ok(self.steps),
            Some(t) => Err(Fault::Deadlock { at: self.place(t as u32), waiting: 1 + waiting.count() }),
        }
    }

    pub(super) fn start_block(&mut self, r: usize) {
        if self.next_block == self.launch.grid {
            return;
        }
        let resident = &mut self.residents[r];
        resident.block = self.next_block;
        resident.live = self.launch.threads;
        self.next_block += 1;
        // What nobody has written yet must not look like something.
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
        for thread in 0..self.launch.threads {
            let t = r as u32 * self.launch.threads + thread;
            let specials = &self.code.specials;
            let launch = self.launch;
            let file = file(&mut self.files, self.code, t);
            file.copy_from_slice(&self.code.template);
            for &(slot, what) in specials {
                file[slot as usize] = special(what, thread, block, launch).into();
            }
            self.pcs[t as usize] = 0;
            self.states[t as usize] = State::Running;
            self.runnable.push(t);
        }
    }

    fn slice(&mut self, t: u32, slice: u32) -> Result<Stop, Fault> {
        let resident = &mut self.residents[(t / self.launch.threads) as usize];
        let local_words = resident.local.len() / self.launch.threads as usize;
        let thread = (t % self.launch.threads) as usize;
        let mut view = View {
            global: self.regions,
            constants: self.constants,
            shared_ranges: &self.shared_ranges,
            shared: &mut resident.shared,
            local: &mut resident.local[thread * local_words..][..local_words],
            params: &mut self.params,
        };
        let registers = file(&mut self.files, self.code, t);
        let mut left = slice;
        let stop = run(self.code, registers, &mut self.pcs[t as usize], &mut view, &mut left, self.steps);
        self.steps += u64::from(slice - left);
        stop.map_err(|failure| {
            let at = self.place(t);
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

    pub(super) fn place(&self, t: u32) -> Box<Place> {
        let (line, instruction) = self.statement(t);
        Box::new(Place {
            entry: self.launch.entry.to_string(),
            block: self.residents[(t / self.launch.threads) as usize].block,
            thread: t % self.launch.threads,
            line,
            instruction,
        })
    }

    pub(super) fn statement(&self, t: u32) -> (u32, String) {
        self.code.statements[self.code.places[self.pcs[t as usize] as usize] as usize].clone()
    }

    pub(super) fn instruction(&self, t: u32) -> &'a Instruction {
        &self.code.instructions[self.pcs[t as usize] as usize]
    }

    pub(super) fn get(&self, t: u32, slot: u32) -> u64 {
        self.files[t as usize * self.code.template.len() + slot as usize]
    }

    pub(super) fn set(&mut self, t: u32, slot: u32, value: u64) {
        file(&mut self.files, self.code, t)[slot as usize] = value;
    }

    /// The runnable thread at `pick` stops running.
    pub(super) fn leave(&mut self, pick: usize, state: State) {
        let t = self.runnable.swap_remove(pick);
        self.states[t as usize] = state;
    }
}

/// The registers of a thread.
fn file<'f>(files: &'f mut [u64], code: &Code, t: u32) -> &'f mut [u64] {
    let stride = code.template.len();
    &mut files[t as usize * stride..][..stride]
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
