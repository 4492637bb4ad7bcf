//! The order in which the blocks of a file set are read.

use crate::content::mix;

/// The order of reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Every block of every file once per pass, in an order that looks random.
    Random,
    /// File after file, each from its start to its end.
    Sequential,
}

impl Pattern {
    /// The word that users type.
    pub fn name(self) -> &'static str {
        match self {
            Pattern::Random => "random",
            Pattern::Sequential => "sequential",
        }
    }
}

/// One block of one file of the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) file: u32,
    pub(super) offset: u64,
    /// Bytes that the file has there: the block size, or less at its end.
    pub(super) len: usize,
}

/// Passes over all blocks. A random pass visits each block exactly once without a list of them: it numbers them by a
/// Feistel network over the next larger power of four, and walks on where that leads outside.
#[derive(Debug)]
pub(super) struct Order {
    pattern: Pattern,
    size: u64,
    block: u64,
    per_file: u64,
    blocks: u64,
    half_bits: u32,
    key: u64,
    at: u64,
}

impl Order {
    pub(super) fn new(pattern: Pattern, files: u32, size: u64, block: usize, seed: u64) -> Order {
        let block = block as u64;
        let per_file = size.div_ceil(block);
        let blocks = per_file * u64::from(files);
        let half_bits = (u64::BITS - (blocks - 1).max(1).leading_zeros()).div_ceil(2);
        Order { pattern, size, block, per_file, blocks, half_bits, key: mix(seed), at: 0 }
    }

    /// The next block of this pass.
    pub(super) fn next(&mut self) -> Option<Block> {
        if self.at == self.blocks {
            return None;
        }
        let index = match self.pattern {
            Pattern::Sequential => self.at,
            Pattern::Random => self.shuffled(self.at),
        };
        self.at += 1;
        let offset = index % self.per_file * self.block;
        let len = self.block.min(self.size - offset) as usize;
        Some(Block { file: (index / self.per_file) as u32, offset, len })
    }

    /// Begins the next pass, random ones in another order.
    pub(super) fn restart(&mut self) {
        self.at = 0;
        self.key = mix(self.key);
    }

    fn shuffled(&self, index: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let mut x = index;
        loop {
            let (mut left, mut right) = (x >> self.half_bits, x & mask);
            for round in 0..4 {
                (left, right) = (right, left ^ (mix(self.key ^ right ^ (round << 56)) & mask));
            }
            x = left << self.half_bits | right;
            if x < self.blocks {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_pass_visits_every_block_once() {
        for (files, size, block) in [(1, 1, 4096), (1, 4096, 4096), (3, 10_001, 4096), (7, 100_000, 512)] {
            for pattern in [Pattern::Random, Pattern::Sequential] {
                let mut order = Order::new(pattern, files, size, block, 5);
                for pass in 0..2 {
                    let seen: HashSet<(u32, u64)> =
                        std::iter::from_fn(|| order.next()).map(|b| (b.file, b.offset)).collect();
                    assert_eq!(seen.len() as u64, order.blocks, "{pattern:?} {files} x {size}, pass {pass}");
                    assert!(seen.iter().all(|&(file, offset)| file < files && offset < size));
                    order.restart();
                }
            }
        }
    }

    #[test]
    fn a_random_pass_is_not_in_order_and_no_two_are_alike() {
        let mut order = Order::new(Pattern::Random, 1, 1 << 20, 4096, 5);
        let first: Vec<u64> = std::iter::from_fn(|| order.next()).map(|b| b.offset).collect();
        order.restart();
        let second: Vec<u64> = std::iter::from_fn(|| order.next()).map(|b| b.offset).collect();
        assert!(!first.is_sorted() && first != second);
    }

    #[test]
    fn the_last_block_of_a_file_is_as_long_as_what_is_left() {
        let mut order = Order::new(Pattern::Sequential, 2, 5000, 4096, 0);
        assert_eq!(order.next(), Some(Block { file: 0, offset: 0, len: 4096 }));
        assert_eq!(order.next(), Some(Block { file: 0, offset: 4096, len: 904 }));
        assert_eq!(order.next(), Some(Block { file: 1, offset: 0, len: 4096 }));
    }
}
