//! The order of repetitions: a pure function of the plan and the seed, so that a resumed run goes on in it.

use crate::Order;
use crate::statistics::Random;

/// One repetition to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// Which cell, from 0 in the order of the plan.
    pub(super) cell: usize,
    /// Which block.
    pub(super) block: u32,
}

/// All repetitions in the order in which they run.
pub(super) fn schedule(cells: usize, repetitions: u32, order: Order, seed: u64) -> Vec<Turn> {
    let mut random = Random::new(seed);
    match order {
        Order::Interleaved => (0..repetitions)
            .flat_map(|block| {
                let mut turns: Vec<Turn> = (0..cells).map(|cell| Turn { cell, block }).collect();
                random.shuffle(&mut turns);
                turns
            })
            .collect(),
        Order::Sequential => {
            (0..cells).flat_map(|cell| (0..repetitions).map(move |block| Turn { cell, block })).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_holds_every_cell_once_in_an_order_of_its_own() {
        let turns = schedule(7, 5, Order::Interleaved, 42);
        let mut orders = Vec::new();
        for (block, chunk) in (0..).zip(turns.chunks(7)) {
            assert!(chunk.iter().all(|t| t.block == block));
            let order: Vec<usize> = chunk.iter().map(|t| t.cell).collect();
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4, 5, 6]);
            orders.push(order);
        }
        orders.sort_unstable();
        orders.dedup();
        assert_eq!(orders.len(), 5);
        assert_eq!(turns, schedule(7, 5, Order::Interleaved, 42), "the seed decides");
        assert_ne!(turns, schedule(7, 5, Order::Interleaved, 43));
    }

    #[test]
    fn sequential_is_cell_by_cell() {
        let turns = schedule(2, 2, Order::Sequential, 1);
        let pairs: Vec<_> = turns.iter().map(|t| (t.cell, t.block)).collect();
        assert_eq!(pairs, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    }
}
