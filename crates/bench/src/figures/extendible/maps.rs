//! The maps of a device that get batches of lookups, insertions and removals.

use anyhow::ensure;
use warpnest::design::Changes;
use warpnest::design::{BulkMap, Config};
use warpnest::{Answers, Buffer, Device, ExtendibleConfig, LinearConfig, LinearMap};

use super::batches::Batch;
use super::{BUCKETS, RECORDS, SEGMENTS};
use crate::bench::input::{value, wrong_hits};

/// The keys in a table before the batches, and the maximum number of keys during them.
pub struct Content {
    pub keys: Vec<u32>,
    pub most: u64,
}

/// A table that gets batches.
pub trait Contender {
    /// Does all operations of a batch, and returns the milliseconds. A wrong answer is an error.
    fn run(&mut self, batch: &Batch) -> anyhow::Result<f64>;
    /// Returns the number of keys in the table.
    fn len(&self) -> u64;
}

/// A function that makes a contender with this content.
pub type New = fn(&Device, &Content) -> anyhow::Result<Box<dyn Contender>>;

fn values_of(keys: &[u32]) -> Vec<u32> {
    keys.iter().map(|&key| value(key)).collect()
}

/// Makes a map with the content.
fn filled<D: Changes>(config: &Config<D>, device: &Device, content: &Content) -> anyhow::Result<BulkMap<u32, u32, D>> {
    let mut map = config.create(device)?;
    let new = map.insert_many(&content.keys, &values_of(&content.keys))?;
    ensure!(new == content.keys.len(), "{new} of {} new keys were counted", content.keys.len());
    Ok(map)
}

/// A map gets each kind of operation in a separate call: removals, insertions, then lookups.
impl<D: Changes> Contender for BulkMap<u32, u32, D> {
    fn run(&mut self, batch: &Batch) -> anyhow::Result<f64> {
        let device = &self.device().clone();
        let Batch { removed, inserted, asked, .. } = batch;
        let stream = device.default_stream();
        let upload = |words: &[u32]| Buffer::from_slice(device, words);
        let (removals, insertions, queries) = (upload(removed)?, upload(inserted)?, upload(asked)?);
        let values = upload(&values_of(inserted))?;
        let (mut had, mut answers) = (Answers::new(device, removed.len())?, Answers::new(device, asked.len())?);
        let start = stream.record()?;
        let gone = self.remove_many_into(stream, &removals, &mut had)?;
        let new = self.insert_many(&insertions, &values)?;
        self.get_many_into(stream, &queries, &mut answers)?;
        let ms = stream.record()?.milliseconds_since(&start)?;
        ensure!(gone == removed.len(), "{gone} of {} keys were removed", removed.len());
        ensure!(new == inserted.len(), "{new} of {} new keys were counted", inserted.len());
        no_wrong(wrong_hits::<u32, u32>(removed, &had.download(stream)?), "removals")?;
        no_wrong(wrong_hits::<u32, u32>(asked, &answers.download(stream)?), "lookups")?;
        Ok(ms)
    }

    fn len(&self) -> u64 {
        self.len() as u64
    }
}

/// A map that gets all operations of a batch in one call.
struct OneCall(LinearMap<u32, u32>);

impl Contender for OneCall {
    fn run(&mut self, batch: &Batch) -> anyhow::Result<f64> {
        let Self(map) = self;
        let device = &map.device().clone();
        let stream = device.default_stream();
        let parts = || batch.operations.iter().map(|operation| operation.parts());
        let upload = |words: Vec<u32>| Buffer::from_slice(device, &words);
        let kinds = Buffer::from_slice(device, &parts().map(|(kind, ..)| kind).collect::<Vec<_>>())?;
        let keys = upload(parts().map(|(_, key, _)| key).collect())?;
        let values = upload(parts().map(|(.., value)| value).collect())?;
        let mut answers = Answers::new(device, keys.len())?;
        let start = stream.record()?;
        map.apply_many_into(stream, &kinds, &keys, &values, &mut answers)?;
        let ms = stream.record()?.milliseconds_since(&start)?;
        no_wrong(batch.wrong(&answers.download(stream)?), "operations")?;
        Ok(ms)
    }

    fn len(&self) -> u64 {
        self.0.len() as u64
    }
}

pub fn no_wrong(wrong: u64, what: &str) -> anyhow::Result<()> {
    ensure!(wrong == 0, "the answers of {wrong} {what} are wrong");
    Ok(())
}

/// Returns an extendible map that starts with the shape of the map of (Hu 2015), and grows.
pub fn extendible(device: &Device, content: &Content) -> anyhow::Result<Box<dyn Contender>> {
    let config = ExtendibleConfig::default().segments(SEGMENTS).buckets(BUCKETS).records(RECORDS).seed(1);
    Ok(Box::new(filled(&config, device, content)?))
}

fn linear_map(device: &Device, content: &Content) -> anyhow::Result<LinearMap<u32, u32>> {
    filled(&LinearConfig::default().pairs(content.most as usize).seed(1), device, content)
}

/// Returns a linear map whose capacity suffices for the maximum number of keys.
pub fn linear(device: &Device, content: &Content) -> anyhow::Result<Box<dyn Contender>> {
    Ok(Box::new(linear_map(device, content)?))
}

/// Returns a linear map that gets each batch in one call.
pub fn linear_mixed(device: &Device, content: &Content) -> anyhow::Result<Box<dyn Contender>> {
    Ok(Box::new(OneCall(linear_map(device, content)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::input::key;

    #[test]
    fn every_map_does_batches_and_one_that_forgets_a_key_is_found_out() {
        let device = Device::cpu();
        let content = Content { keys: (0..1000).map(key).collect(), most: 1400 };
        let news: [New; 3] = [extendible, linear, linear_mixed];
        for new in news {
            let mut map = new(&device, &content).unwrap();
            for number in 0..4 {
                assert!(map.run(&Batch::new(1000, 2000, number)).unwrap() > 0.0);
                assert_eq!(map.len(), 1000 + 40 * (number + 1));
            }
            // In a repeated batch, keys to remove are gone, and keys to insert are there.
            assert!(map.run(&Batch::new(1000, 2000, 3)).is_err());
        }
        let batch = Batch::new(1000, 2000, 0);
        for (forgotten, what) in
            [(batch.removed[0], "79 of 80 keys were removed"), (batch.asked[0], "lookups are wrong")]
        {
            let mut map = linear_map(&device, &content).unwrap();
            map.remove_many(&[forgotten]).unwrap();
            let error = map.run(&batch).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
