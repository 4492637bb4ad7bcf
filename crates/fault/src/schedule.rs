//! When the faults of a plan are made.

use pitot_meter::Random;
use serde::{Deserialize, Serialize};

use crate::faults::find;

/// A fault that a plan asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FaultPlan {
    /// Its name among [`FAULTS`](crate::FAULTS).
    pub kind: String,
    /// When it begins.
    pub at: At,
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
    /// At a moment that is drawn anew for every block, and the same for all its cells.
    Random,
}

impl FaultPlan {
    /// How long it lasts, seconds.
    pub fn length_s(&self) -> f64 {
        self.for_s.unwrap_or_else(|| find(&self.kind).map_or(1.0, |fault| fault.lasts_s))
    }
}

/// One fault of one repetition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// Its position in the plan.
    pub number: usize,
    /// When it begins, seconds from the start of the measured part.
    pub at_s: f64,
}

/// The faults of one repetition in the order of their times.
pub type Schedule = Vec<Moment>;

/// When the faults are made in the repetitions of block `block` of a run of this seed, whose measured part takes `duration_s`. Random
/// moments lie where the fault ends before the measured part does, if it is short enough. A pure function, so that a dry run
/// tells what a run will do.
pub fn schedule(faults: &[FaultPlan], seed: u64, block: u64, duration_s: f64) -> Schedule {
    let mut random = Random::new(seed ^ block.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut moments: Schedule = (0..)
        .zip(faults)
        .map(|(number, fault)| {
            // Drawn for each, so that a fault with a time of its own does not move the others.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(at: At) -> FaultPlan {
        FaultPlan { kind: "stop".into(), at, for_s: Some(0.5), options: Vec::new() }
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
}
