//! The schedule of a plan's faults.

use pitot_meter::Random;
use serde::{Deserialize, Serialize};

use crate::faults::find;

/// A fault of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FaultPlan {
    /// Its name among [`FAULTS`](crate::FAULTS).
    pub kind: String,
    /// When it begins.
    pub at: At,
    /// Its period in a soak, seconds; a run makes it once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_s: Option<f64>,
    /// How long it lasts, seconds; the fault's own length if none.
    pub for_s: Option<f64>,
    /// Options by name, as the plan spells them.
    pub options: Vec<(String, String)>,
}

/// When a fault begins.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum At {
    /// So many seconds after the start of the measured part.
    Seconds(f64),
    /// At a random time for every block, the same for all its cells.
    Random,
}

impl FaultPlan {
    /// How long it lasts, seconds.
    pub fn length_s(&self) -> f64 {
        self.for_s.unwrap_or_else(|| find(&self.kind).map_or(1.0, |fault| fault.lasts_s))
    }
}

/// One fault of one repetition, or of a soak.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// Its position in the plan.
    pub number: usize,
    /// When it begins, seconds from the start of the measured part; of a soak, seconds under load.
    pub at_s: f64,
}

/// The faults of one repetition, or of a soak, in the order of their times.
pub type Schedule = Vec<Moment>;

/// The schedule for the repetitions of block `block` of a run with this seed and a measured part of `duration_s`. At
/// random times the fault ends within the measured part, if it is short enough. A pure function, so that a dry run shows
/// the same.
pub fn schedule(faults: &[FaultPlan], seed: u64, block: u64, duration_s: f64) -> Schedule {
    let mut random = Random::new(seed ^ block.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut moments: Schedule = (0..)
        .zip(faults)
        .map(|(number, fault)| {
            // Drawn for each fault, so that one with a fixed time does not change the others.
            let drawn = random.unit();
            let room_s = (duration_s - fault.length_s()).max(0.0);
            let at_s = match fault.at {
                At::Seconds(at_s) => at_s,
                At::Random => drawn * room_s,
            };
            Moment { number, at_s }
        })
        .collect();
    moments.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    moments
}

/// The schedule for a soak with this seed and `length_s` under load. A fault with `every` is repeated with that period, or
/// at a random time in every period; none begins that would not end in time. A pure function, so that a resumed soak
/// continues with the same times.
pub fn schedule_of_soak(faults: &[FaultPlan], seed: u64, length_s: f64) -> Schedule {
    let mut moments = Schedule::new();
    for (number, fault) in faults.iter().enumerate() {
        // Separate generators, so that an added fault does not change the others.
        let mut random = Random::new(seed ^ (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let stretch_s = fault.every_s.unwrap_or(length_s).max(fault.length_s()).max(SHORTEST_S);
        let room_s = (stretch_s.min(length_s) - fault.length_s()).max(0.0);
        let stretches = fault.every_s.map_or(1, |_| (length_s / stretch_s).ceil() as usize);
        for stretch in 0..stretches {
            let at_s = match fault.at {
                At::Seconds(at_s) => at_s,
                At::Random => random.unit() * room_s,
            } + stretch as f64 * stretch_s;
            if at_s + fault.length_s() <= length_s || stretches == 1 {
                moments.push(Moment { number, at_s });
            }
        }
    }
    moments.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    moments
}

/// Shortest period, seconds, which bounds the schedule of a soak.
const SHORTEST_S: f64 = 1.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(at: At) -> FaultPlan {
        FaultPlan { kind: "stop".into(), at, every_s: None, for_s: Some(0.5), options: Vec::new() }
    }

    #[test]
    fn random_moments_follow_from_the_seed_and_leave_room_for_the_fault() {
        let faults = [fault(At::Random), fault(At::Seconds(1.0)), fault(At::Random)];
        let drawn = schedule(&faults, 7, 3, 10.0);
        assert_eq!(drawn, schedule(&faults, 7, 3, 10.0));
        assert_ne!(drawn, schedule(&faults, 7, 4, 10.0));
        assert!(drawn.is_sorted_by(|a, b| a.at_s <= b.at_s));
        assert!(drawn.iter().all(|moment| (0.0..=9.5).contains(&moment.at_s)), "{drawn:?}");
        assert_eq!(drawn.iter().find(|moment| moment.number == 1).unwrap().at_s, 1.0);
        assert_eq!(schedule(&[fault(At::Random)], 7, 3, 0.2)[0].at_s, 0.0);
    }

    #[test]
    fn faults_of_a_soak_come_back_and_a_longer_soak_moves_none_of_them() {
        let every = |at: At| FaultPlan { every_s: Some(10.0), ..fault(at) };
        let faults = [every(At::Seconds(4.0)), fault(At::Seconds(1.0)), every(At::Random)];
        let soak = schedule_of_soak(&faults, 7, 35.0);
        let of = |number: usize| -> Vec<f64> {
            soak.iter().filter(|moment| moment.number == number).map(|moment| moment.at_s).collect()
        };
        assert_eq!((of(0), of(1)), (vec![4.0, 14.0, 24.0, 34.0], vec![1.0]));
        let random = of(2);
        assert!(
            random.iter().zip(0..).all(|(at, n)| (10 * n..10 * n + 10).contains(&(*at as i32))),
            "{random:?}"
        );
        assert!(random.iter().all(|at| at % 10.0 <= 9.5) && random.len() >= 3, "{random:?}");
        let longer = schedule_of_soak(&faults, 7, 100.0);
        assert!(soak.iter().all(|moment| longer.contains(moment)));
        assert_eq!(longer.iter().filter(|moment| moment.number == 0).count(), 10);
    }
}
