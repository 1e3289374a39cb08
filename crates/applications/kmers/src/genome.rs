//! Made-up genomes, for trials and measurements.

use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::io::{self, Write};

/// The most bases of a record.
const RECORD: usize = 10_000_000;
/// The bases of a line.
const LINE: usize = 80;
/// The bases of a part that is either new or a copy, at least and at most.
const PART: [u64; 2] = [100, 5000];
/// The parts of which one is a copy.
const COPIES: u64 = 4;
/// The copied bases of which one is another one.
const CHANGES: u64 = 100;
/// The parts of which one is followed by letters that are no bases.
const GAPS: u64 = 400;

/// Writes a made-up genome of so many letters as FASTA. A quarter of its parts are copies of
/// earlier ones, half of these of the other strand and all with changes, so some k-mers are
/// frequent. A seed makes one genome.
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
