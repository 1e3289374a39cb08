//! References on a device, and the launches that find them in scenes.

use super::hypothesis::Hypothesis;
use super::points::Points;
use super::sets::{Result, Sets};
use warpnest::low_level::kernels::hash::Divisor;
use warpnest::primitives::{Scratch, exclusive_scan_in_place, gather, sort_pairs};
use warpnest::types::Plain as Element;
use warpnest::{Buffer, Device, Event, MultiMap, Stream};
use warpnest_applications_kernels::images::{
    Choose, ChooseParams, HYPOTHESES, LimitRuns, LimitRunsParams, NO_REFERENCE_KEY, NO_SCENE_KEY, NO_VOTE, POSE_BITS,
    REFERENCE_BITS, RESULT_WORDS, Tally, TallyParams, Verify, VerifyParams, Vote, VoteParams,
};

/// The maximum features of a key that is used. A key with more says little, and would give more
/// votes than all other keys.
pub const MOST_ALIKE: u64 = 32;

/// The number of threads in a block of [`Verify`], which verifies one hypothesis per block.
const VERIFY_THREADS: u64 = 128;

/// The working buffers of searches, allocated once if they are kept from one search to the next.
pub struct Work {
    scratch: Scratch,
    runs: Buffer<u32>,
    counts: Buffer<u32>,
    offsets: Buffer<u64>,
    vote_keys: Buffer<u64>,
    votes: Buffer<u64>,
    best: Buffer<u64>,
    hypotheses: Buffer<u64>,
    results: Buffer<u32>,
    /// The stages of the last search, each with the event at its end. The first event is the start.
    stages: Vec<(&'static str, Event)>,
}

impl Work {
    /// Creates empty buffers.
    pub fn new(device: &Device) -> Result<Self> {
        let (narrow, wide) = (|| Buffer::zeroed(device, 0), || Buffer::zeroed(device, 0));
        Ok(Self {
            scratch: Scratch::new(device),
            runs: narrow()?,
            counts: narrow()?,
            offsets: wide()?,
            vote_keys: wide()?,
            votes: wide()?,
            best: wide()?,
            hypotheses: wide()?,
            results: narrow()?,
            stages: Vec::new(),
        })
    }

    /// Returns the duration of each stage of the last search, in milliseconds by the device's
    /// clock.
    pub fn stages(&self) -> Result<Vec<(&'static str, f64)>> {
        let times = self.stages.windows(2);
        Ok(times
            .map(|pair| Ok((pair[1].0, pair[1].1.milliseconds_since(&pair[0].1)?)))
            .collect::<warpnest::Result<_>>()?)
    }
}

/// Replaces a buffer whose length is not `length`; its contents are then arbitrary.
fn fit<T: Element>(device: &Device, buffer: &mut Buffer<T>, length: usize) -> Result<()> {
    if buffer.len() != length {
        // The previous memory is freed first.
        *buffer = Buffer::zeroed(device, 0)?;
        *buffer = Buffer::zeroed(device, length)?;
    }
    Ok(())
}

/// References and the multimap of their features.
pub struct Finder {
    device: Device,
    references: Sets,
    map: MultiMap<u32, u32>,
}

impl Finder {
    /// Copies references to the device, and builds the multimap of their features.
    pub fn new(device: &Device, references: &[Points]) -> Result<Self> {
        let stream = device.default_stream();
        let mut references = Sets::new(device, references)?;
        references.hash(stream, NO_REFERENCE_KEY)?;
        let numbers: Vec<u32> = (0..references.keys.len() as u32).collect();
        let numbers = Buffer::from_slice(device, &numbers)?;
        let map = warpnest::MultiConfig::default().build(device, &references.keys, &numbers)?;
        Ok(Self { device: device.clone(), references, map })
    }

    /// Returns the device that the references are on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the number of features and the number of distinct keys.
    pub fn features(&self) -> (usize, usize) {
        (self.map.len(), self.map.key_count())
    }

    /// Returns the hypotheses of each scene, best first.
    pub fn find(&self, scenes: &[Points]) -> Result<Vec<Vec<Hypothesis>>> {
        let (stream, mut work) = (self.device.default_stream(), Work::new(&self.device)?);
        let mut scenes = Sets::new(&self.device, scenes)?;
        self.search(stream, &mut scenes, &mut work)?;
        Self::hypotheses(stream, &work)
    }

    /// Searches scenes and stores the hypotheses in `work`. Waits once, to read the number of
    /// votes.
    pub fn search(&self, stream: &Stream, scenes: &mut Sets, work: &mut Work) -> Result<()> {
        work.stages.clear();
        work.stages.push(("start", stream.record()?));
        scenes.hash(stream, NO_SCENE_KEY)?;
        work.stages.push(("keys", stream.record()?));
        let votes = self.vote(stream, scenes, work)?;
        self.choose(stream, scenes, work, votes)?;
        work.stages.push(("tally", stream.record()?));
        self.verify(stream, scenes, work, votes)?;
        work.stages.push(("verify", stream.record()?));
        Ok(())
    }

    /// Looks up the keys of scenes, and sorts the votes. Returns the number of words of votes,
    /// which includes words without a vote.
    fn vote(&self, stream: &Stream, scenes: &Sets, work: &mut Work) -> Result<u64> {
        let (device, queries) = (&self.device, scenes.keys.len());
        let Work { scratch, runs, counts, offsets, vote_keys, votes, stages, .. } = work;
        fit(device, runs, queries)?;
        fit(device, counts, queries)?;
        fit(device, offsets, queries + 1)?;
        self.map.runs_many_into(stream, &scenes.keys, runs, counts)?;
        let plan = LimitRunsParams { queries: queries as u64, most: MOST_ALIKE };
        // SAFETY: `counts` has a count for each query, and `offsets` is longer by one.
        unsafe {
            stream.launch(queries + 1, |uses| LimitRuns {
                counts: uses.read(counts),
                offsets: uses.write(offsets),
                plan,
            })?;
        }
        exclusive_scan_in_place(stream, scratch, offsets)?;
        let mut total = Buffer::<u64>::zeroed(device, 1)?;
        gather(stream, offsets, &Buffer::from_slice(device, &[queries as u32])?, &mut total)?;
        let total = total.download(stream)?[0] as usize;
        stages.push(("lookup", stream.record()?));
        // Spare words let later scenes, which may have somewhat more votes, use the same memory.
        let held = vote_keys.len();
        let length = if held < total || held / 2 > total { total + total / 16 } else { held };
        // Both lengths are checked every time, because an error can leave them unequal.
        fit(device, vote_keys, length)?;
        fit(device, votes, length)?;
        vote_keys.fill(stream, 0xff)?;
        let there = &self.references;
        let plan = VoteParams {
            queries: queries as u64,
            points: Divisor::new(scenes.points.len() as u32),
            reference_points: Divisor::new(there.points.len() as u32),
        };
        // SAFETY: a query's run has as many values as its two offsets differ by, and there is a
        // word for each vote. Values are ids of the references' features; both kinds of sets have
        // been hashed.
        unsafe {
            stream.launch(plan.queries as usize, |uses| Vote {
                runs: uses.read(runs),
                offsets: uses.read(offsets),
                values: uses.read(self.map.value_buffer()),
                points: uses.read(&scenes.points),
                sets: uses.read(&scenes.sets),
                starts: uses.read(&scenes.starts),
                frames: uses.read(&scenes.frames),
                far: uses.read(&scenes.far),
                reference_points: uses.read(&there.points),
                reference_sets: uses.read(&there.sets),
                reference_starts: uses.read(&there.starts),
                reference_frames: uses.read(&there.frames),
                reference_far: uses.read(&there.far),
                keys_out: uses.write(vote_keys),
                votes_out: uses.write(votes),
                plan,
            })?;
        }
        stages.push(("vote", stream.record()?));
        sort_pairs(stream, scratch, vote_keys, votes)?;
        stages.push(("sort", stream.record()?));
        Ok(vote_keys.len() as u64)
    }

    /// Chooses the hypotheses with the most votes.
    fn choose(&self, stream: &Stream, scenes: &Sets, work: &mut Work, votes: u64) -> Result<()> {
        let (scenes, references) = (scenes.count, self.references.count);
        let Work { vote_keys, best, hypotheses, .. } = work;
        fit(&self.device, best, scenes * references)?;
        best.fill(stream, 0)?;
        fit(&self.device, hypotheses, scenes * HYPOTHESES)?;
        let plan = TallyParams { votes, references: references as u64 };
        // SAFETY: `vote_keys` has `votes` keys in order, and `best` a word for each scene and
        // reference.
        unsafe {
            stream.launch(votes as usize, |uses| Tally { keys: uses.read(vote_keys), best: uses.write(best), plan })?;
        }
        let plan = ChooseParams { scenes: scenes as u64, references: references as u64 };
        // SAFETY: `best` is as above, and each scene has words for its hypotheses.
        unsafe {
            stream.launch(plan.scenes as usize, |uses| Choose {
                best: uses.read(best),
                hypotheses: uses.write(hypotheses),
                plan,
            })?;
        }
        Ok(())
    }

    /// Fits and verifies all hypotheses.
    fn verify(&self, stream: &Stream, scenes: &Sets, work: &mut Work, votes: u64) -> Result<()> {
        let number = scenes.count * HYPOTHESES;
        let Work { vote_keys, votes: pairs, hypotheses, results, .. } = work;
        fit(&self.device, results, number * RESULT_WORDS)?;
        results.fill(stream, 0)?;
        let there = &self.references;
        // SAFETY: hypotheses are sort keys of votes, whose points are in the sets. Each hypothesis
        // has words for its result.
        unsafe {
            stream.launch(number * VERIFY_THREADS as usize, |uses| Verify {
                hypotheses: uses.read(hypotheses),
                keys: uses.read(vote_keys),
                votes: uses.read(pairs),
                points: uses.read(&scenes.points),
                starts: uses.read(&scenes.starts),
                frames: uses.read(&scenes.frames),
                reference_points: uses.read(&there.points),
                reference_starts: uses.read(&there.starts),
                reference_frames: uses.read(&there.frames),
                results: uses.write(results),
                plan: VerifyParams { votes },
            })?;
        }
        Ok(())
    }

    /// Returns the hypotheses that a search has stored in `work`, best first for each scene.
    pub fn hypotheses(stream: &Stream, work: &Work) -> Result<Vec<Vec<Hypothesis>>> {
        let (keys, results) = (work.hypotheses.download(stream)?, work.results.download(stream)?);
        let read = |(key, words): (&u64, &[u32])| {
            let float = |i: usize| f32::from_bits(words[i]);
            (*key != NO_VOTE).then(|| Hypothesis {
                reference: (key >> POSE_BITS & ((1 << (REFERENCE_BITS - POSE_BITS)) - 1)) as usize,
                factor: [float(0), float(1)],
                middle: [float(2), float(3)],
                matches: words[4],
                around: words[5],
                votes: words[6],
            })
        };
        let scenes = keys.chunks(HYPOTHESES).zip(results.chunks(HYPOTHESES * RESULT_WORDS));
        Ok(scenes
            .map(|(keys, results)| keys.iter().zip(results.chunks(RESULT_WORDS)).filter_map(read).collect())
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::scenes;
    use super::*;
    use rand_xoshiro::Xoshiro256StarStar as Random;
    use rand_xoshiro::rand_core::SeedableRng;

    #[test]
    fn buffers_of_one_search_serve_the_next_one() {
        let random = &mut Random::seed_from_u64(10);
        let references: Vec<Points> = (0..5).map(|_| scenes::random_points(100, random)).collect();
        let finder = Finder::new(&Device::cpu(), &references).unwrap();
        let (stream, mut work) = (finder.device().default_stream(), Work::new(finder.device()).unwrap());
        for scenes in [&references[..], &references[1..2], &[], &references[2..], &references[3..]] {
            let mut sets = Sets::new(finder.device(), scenes).unwrap();
            finder.search(stream, &mut sets, &mut work).unwrap();
            assert_eq!(Finder::hypotheses(stream, &work).unwrap(), finder.find(scenes).unwrap());
            assert_eq!(work.stages().unwrap().len(), 6);
        }
    }
}
