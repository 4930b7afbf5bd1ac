//! 128-bit digests of content.
//!
//! `SipHash` 1-3 with a fixed key, from a small crate without dependencies. std's hasher has 64 bits, too few to
//! consider two functions equal, and may change with every release, so its digests could not be stored. At 1 GB/s it is
//! faster than reading the objects.

use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::Hasher;

/// Digest of content or a name.
pub(super) type Hash = u128;

/// Builder of an identity from parts, in order.
#[derive(Debug, Default)]
pub(super) struct Digest(SipHasher13);

impl Digest {
    /// Adds bytes and their number, so that parts cannot run into each other.
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.write(&(bytes.len() as u64).to_le_bytes());
        self.0.write(bytes);
        self
    }

    pub fn number(mut self, number: u64) -> Self {
        self.0.write(&number.to_le_bytes());
        self
    }

    pub fn finish(self) -> Hash {
        self.0.finish128().as_u128()
    }
}

/// Returns the digest of a name or other bytes.
pub(super) fn hash(bytes: &[u8]) -> Hash {
    Digest::default().bytes(bytes).finish()
}

/// Hasher for tables with digests as keys, which need no second hash.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Prehashed(u64);

impl Hasher for Prehashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }

    /// Hashes two atom numbers in one word by multiplication with the golden ratio.
    fn write_u64(&mut self, key: u64) {
        let spread = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = spread ^ (spread >> 32);
    }
}

/// A table with digests or pairs of atoms as keys.
pub(super) type Table<K, V> = std::collections::HashMap<K, V, std::hash::BuildHasherDefault<Prehashed>>;
