//! The order of repetitions: a pure function of the plan and the seed, so that a resumed run continues in it.

use pitot_plan::Order;
use pitot_stats::Random;

/// A repetition to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// Which cell, from 0 in the order of the plan.
    pub(super) cell: usize,
    /// Which block.
    pub(super) block: u32,
}

/// All repetitions in the order in which they run.
///
/// `experiments` has the experiment of each cell. Experiments run one after the other: a replicate repeats the experiment, so its
/// blocks have only its own cells.
pub(super) fn schedule<T: PartialEq>(
    experiments: &[T],
    repetitions: u32,
    order: Order,
    seed: u64,
) -> Vec<Turn> {
    let mut random = Random::new(seed);
    let mut turns = Vec::with_capacity(experiments.len() * repetitions as usize);
    for (first, experiment) in experiments.iter().enumerate() {
        if experiments[..first].contains(experiment) {
            continue;
        }
        let cells = || (0..experiments.len()).filter(|&cell| experiments[cell] == *experiment);
        match order {
            Order::Interleaved => {
                for block in 0..repetitions {
                    let start = turns.len();
                    turns.extend(cells().map(|cell| Turn { cell, block }));
                    random.shuffle(&mut turns[start..]);
                }
            }
            Order::Sequential => {
                turns
                    .extend(cells().flat_map(|cell| (0..repetitions).map(move |block| Turn { cell, block })));
            }
        }
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_holds_every_cell_once_in_an_order_of_its_own() {
        let turns = schedule(&[(); 7], 5, Order::Interleaved, 42);
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
        assert_eq!(turns, schedule(&[(); 7], 5, Order::Interleaved, 42), "the seed decides");
        assert_ne!(turns, schedule(&[(); 7], 5, Order::Interleaved, 43));
    }

    #[test]
    fn experiments_follow_one_another() {
        let turns = schedule(&["a", "b", "a", "b"], 3, Order::Interleaved, 1);
        assert!(turns[..6].iter().all(|t| t.cell % 2 == 0));
        assert!(turns[6..].iter().all(|t| t.cell % 2 == 1));
        assert_eq!(turns[6].block, 0);
    }

    #[test]
    fn sequential_is_cell_by_cell() {
        let turns = schedule(&[(); 2], 2, Order::Sequential, 1);
        let pairs: Vec<_> = turns.iter().map(|t| (t.cell, t.block)).collect();
        assert_eq!(pairs, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    }
}
