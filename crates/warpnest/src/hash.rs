//! The hash families from which tables draw their hash functions.

use crate::{ConfigError, Error, Result};
use gpu_kernels::hash::Formula;
use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::hash::{BuildHasher, Hasher, RandomState};

/// The family from which a table's hash functions are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum HashFamily {
    /// A bijective mix of the key with random constants, scaled to the table by a multiplication.
    /// It is the default, because it spreads any input that was not made to defeat it.
    #[default]
    Mix,
    /// The linear family (Alcantara 2011): `(a·k + b) mod p mod slots`.
    Linear {
        /// The prime p: 334214459 in (Alcantara 2011), 4294967291 in CUDPP.
        prime: u32,
        /// The arithmetic of `a·k + b`.
        arithmetic: Arithmetic,
    },
    /// The XOR form (Alcantara 2011), which CUDPP uses: `((a ^ k) + b) mod p mod slots`.
    Xor {
        /// The prime p.
        prime: u32,
        /// The arithmetic of `(a ^ k) + b`.
        arithmetic: Arithmetic,
    },
}

/// The arithmetic of a hash function before it reduces by the prime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// Exact arithmetic without overflow, as in the formula. Under [`HashFamily::Linear`], keys
    /// that agree modulo p then have all their slots in common. If more keys agree than there are
    /// functions, every build fails
    /// ([`BuildError::KeysAgreeModuloPrime`](crate::BuildError::KeysAgreeModuloPrime)). Among 2^27
    /// random 32-bit keys, with p = 334214459, some keys agree in this way.
    Exact,
    /// Arithmetic modulo 2^32 or 2^64, by the key's width, like CUDA's unsigned arithmetic. Keys
    /// that agree under one function need not agree under the next function.
    Wrapping,
}

impl HashFamily {
    /// The linear family with its prime and 32-bit arithmetic (Alcantara 2011).
    pub const ALCANTARA_2011: Self = Self::Linear { prime: 334_214_459, arithmetic: Arithmetic::Wrapping };
    /// CUDPP's XOR family with its prime.
    pub const CUDPP: Self = Self::Xor { prime: 4_294_967_291, arithmetic: Arithmetic::Wrapping };

    pub(crate) fn formula(self) -> Formula {
        match self {
            Self::Mix => Formula::Mix,
            Self::Linear { arithmetic: Arithmetic::Exact, .. } => Formula::Linear,
            Self::Linear { arithmetic: Arithmetic::Wrapping, .. } => Formula::LinearWrapping,
            Self::Xor { arithmetic: Arithmetic::Exact, .. } => Formula::Xor,
            Self::Xor { arithmetic: Arithmetic::Wrapping, .. } => Formula::XorWrapping,
        }
    }

    /// Fails if the modulus is not a prime.
    pub(crate) fn check_prime(self) -> Result<()> {
        match self.prime() {
            Some(prime) if !is_prime(prime) => Err(Error::Config(ConfigError::NotPrime { modulus: prime })),
            _ => Ok(()),
        }
    }

    pub(crate) fn prime(self) -> Option<u32> {
        match self {
            Self::Mix => None,
            Self::Linear { prime, .. } | Self::Xor { prime, .. } => Some(prime),
        }
    }
}

/// Returns an unpredictable seed.
pub(crate) fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Returns the constants of the first hash function in the first attempt of a build with this seed.
pub(crate) fn constants(seed: u64) -> [u64; 2] {
    let mut random = Xoshiro256StarStar::seed_from_u64(seed);
    [random.next_u64(), random.next_u64()]
}

fn is_prime(n: u32) -> bool {
    n >= 2 && (2..).take_while(|d| d * d <= n as u64).all(|d| !(n as u64).is_multiple_of(d))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes() {
        let primes: Vec<u32> = (0..30).filter(|&n| is_prime(n)).collect();
        assert_eq!(primes, [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]);
        assert!(is_prime(334_214_459) && is_prime(4_294_967_291) && !is_prime(u32::MAX));
    }
}
