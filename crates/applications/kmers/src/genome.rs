//! Made-up genomes, for trials and measurements.

use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::io::{self, Write};

/// The maximum number of bases in a record.
const RECORD: usize = 10_000_000;
/// The number of bases in a line.
const LINE: usize = 80;
/// The minimum and maximum number of bases in a part, which is either new or a copy.
const PART: [u64; 2] = [100, 5000];
/// One in this many parts is a copy.
const COPIES: u64 = 4;
/// One in this many copied bases is changed.
const CHANGES: u64 = 100;
/// One in this many parts is followed by letters that are not bases.
const GAPS: u64 = 400;

/// Writes a made-up genome of `bases` letters as FASTA. A quarter of its parts are copies of
/// earlier parts, so some k-mers are frequent. Half of the copies are of the other strand, and all
/// have changes.
pub fn write(bases: usize, seed: u64, out: &mut impl Write) -> io::Result<()> {
    for (number, record) in genome(bases, seed).chunks(RECORD).enumerate() {
        writeln!(out, ">made-up-{} seed {seed}", number + 1)?;
        for line in record.chunks(LINE) {
            out.write_all(line)?;
            out.write_all(b"\n")?;
        }
    }
    out.flush()
}

fn genome(bases: usize, seed: u64) -> Vec<u8> {
    let mut random = Xoshiro256StarStar::seed_from_u64(seed);
    let mut below = move |limit: u64| ((u128::from(random.next_u64()) * u128::from(limit)) >> 64) as u64;
    let mut letters = Vec::with_capacity(bases);
    while letters.len() < bases {
        let length = (PART[0] + below(PART[1] - PART[0])) as usize;
        if below(COPIES) == 0 && letters.len() > length {
            let from = below((letters.len() - length) as u64) as usize;
            let is_of_other_strand = below(2) == 0;
            for i in 0..length {
                let letter = match is_of_other_strand {
                    true => complement(letters[from + length - 1 - i]),
                    false => letters[from + i],
                };
                letters.push(if below(CHANGES) == 0 { b"ACGT"[below(4) as usize] } else { letter });
            }
        } else {
            letters.extend((0..length).map(|_| b"ACGT"[below(4) as usize]));
        }
        if below(GAPS) == 0 {
            letters.extend_from_slice(&[b'N'; 50]);
        }
    }
    letters.truncate(bases);
    letters
}

fn complement(letter: u8) -> u8 {
    match letter {
        b'A' => b'T',
        b'C' => b'G',
        b'G' => b'C',
        b'T' => b'A',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_one_genome_of_bases_and_gaps() {
        let genome = genome(2_000_000, 3);
        assert_eq!(genome.len(), 2_000_000);
        assert!(genome == super::genome(2_000_000, 3) && genome != super::genome(2_000_000, 4));
        let of = |letter: u8| genome.iter().filter(|it| **it == letter).count();
        assert!(b"ACGT".iter().all(|letter| of(*letter) > 400_000), "few of a base");
        assert_eq!(b"ACGTN".iter().map(|letter| of(*letter)).sum::<usize>(), genome.len());
        assert!(of(b'N') > 0);
        let mut text = Vec::new();
        write(25_000_050, 3, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.lines().filter(|line| line.starts_with('>')).count(), 3);
        assert_eq!(text.lines().filter(|line| !line.starts_with('>')).map(str::len).sum::<usize>(), 25_000_050);
    }
}
