//! The order in which the arms of a round are loaded, slice by slice.
//!
//! A round runs every arm once and then all of them backwards: A B C C B A. Each arm's two slices lie symmetric about
//! the middle of the round, so what changes evenly with time, or with the position in the round, cancels within the
//! round. The forward halves are the rows of a Williams square (Williams 1949): over as many rounds as there are arms,
//! every arm follows every other equally often, so what an arm leaves behind for its successor (warm caches, a
//! governor's frequency, sockets still to be closed) cancels too. The labels of the square and the order of its rows
//! are drawn at random, so that rounds that do not fill a square are balanced on average over generations.
//!
//! [`lead_in`] completes the balance: each round begins with a slice that does not count, by the arm whose turn is
//! next. Then every arm also follows *itself* as often as any other arm, and no counted slice follows the pause
//! between two rounds.

use pitot_meter::Random;

/// The arms, numbered from 0, in the order of the slices of a round: each of `arms` twice, mirrored about the middle.
///
/// A pure function of its arguments, so that a resumed run continues in the order that it began with. Rounds and
/// generations count from 0; `arms` rounds in succession, from a multiple of `arms` on, fill a square.
pub fn round_order(seed: u64, generation: u32, round: u32, arms: usize) -> Vec<usize> {
    if arms == 0 {
        return Vec::new();
    }
    let (square, row) = (round as usize / arms, round as usize % arms);
    let mut random = stream(seed, generation, square);
    let shuffled = |random: &mut Random| {
        let mut numbers: Vec<usize> = (0..arms).collect();
        random.shuffle(&mut numbers);
        numbers
    };
    let labels = shuffled(&mut random);
    let shift = shuffled(&mut random)[row];
    let forward = zigzag(arms).map(|step| labels[(step + shift) % arms]);
    let mut order: Vec<usize> = forward.collect();
    order.extend(order.clone().into_iter().rev());
    order
}

/// The arm whose slice goes before those of `order` and does not count: the one whose turn is next.
pub fn lead_in(order: &[usize]) -> Option<usize> {
    order.first().copied()
}

/// 0, 1, n-1, 2, n-2, ...: the neighbours differ, modulo n, by every number equally often once read both ways.
fn zigzag(n: usize) -> impl Iterator<Item = usize> {
    (0..n).map(move |i| if i % 2 == 1 { i.div_ceil(2) } else { (n - i / 2) % n })
}

/// A generator of its own for each square of each generation.
fn stream(seed: u64, generation: u32, square: usize) -> Random {
    let of_run = Random::new(seed).next_u64();
    let of_generation = Random::new(of_run ^ u64::from(generation)).next_u64();
    Random::new(of_generation ^ square as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each arm follows each arm (`[predecessor][arm]`) in the counted slices of these rounds.
    fn successions(arms: usize, rounds: u32, generations: u32) -> Vec<Vec<u32>> {
        let mut seen = vec![vec![0; arms]; arms];
        for (generation, round) in (0..generations).flat_map(|g| (0..rounds).map(move |r| (g, r))) {
            let order = round_order(7, generation, round, arms);
            let mut predecessor = lead_in(&order).unwrap();
            for arm in order {
                seen[predecessor][arm] += 1;
                predecessor = arm;
            }
        }
        seen
    }

    #[test]
    fn every_arm_comes_twice_and_mirrored_about_the_middle() {
        for arms in 1..=17 {
            for round in 0..40 {
                let order = round_order(1, 2, round, arms);
                assert!(order.iter().eq(order.iter().rev()), "{order:?}");
                let mut half = order[..arms].to_vec();
                half.sort_unstable();
                assert!(half.into_iter().eq(0..arms), "{order:?}");
            }
        }
    }

    #[test]
    fn over_as_many_rounds_as_arms_every_arm_follows_every_arm_twice() {
        for arms in 1..=17 {
            for times in successions(arms, arms as u32, 1).into_iter().flatten() {
                assert_eq!(times, 2, "{arms} arms");
            }
        }
    }

    #[test]
    fn over_a_square_every_arm_has_every_position_equally_often() {
        for arms in 1..=9 {
            let mut seen = vec![vec![0; arms]; arms];
            for round in 0..arms as u32 {
                for (position, arm) in round_order(3, 0, round, arms)[..arms].iter().enumerate() {
                    seen[position][*arm] += 1;
                }
            }
            assert!(seen.iter().flatten().all(|&times| times == 1), "{seen:?}");
        }
    }

    #[test]
    fn rounds_that_fill_no_square_are_balanced_over_generations() {
        let (arms, rounds, generations) = (7, 3, 2_000);
        let expected = f64::from(2 * rounds * generations) / arms as f64;
        for times in successions(arms, rounds, generations).into_iter().flatten() {
            assert!((f64::from(times) / expected - 1.0).abs() < 0.1, "{times} of {expected}");
        }
    }

    #[test]
    fn the_order_follows_seed_generation_and_round() {
        assert_eq!(round_order(1, 2, 3, 8), round_order(1, 2, 3, 8));
        for other in [round_order(2, 2, 3, 8), round_order(1, 3, 3, 8), round_order(1, 2, 4, 8)] {
            assert_ne!(round_order(1, 2, 3, 8), other);
        }
        assert!(round_order(1, 0, 0, 0).is_empty() && lead_in(&[]).is_none());
    }
}
