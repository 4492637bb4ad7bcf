//! Measures primitives in rounds: each once in a round, prepared again, in random order.
//!
//! Noise of a shared machine comes in bursts longer than a piece of some milliseconds. So the figure of a round is the
//! median of short pieces, which a burst rarely reaches all of, and the figures of rounds, seconds apart and with fresh
//! descriptors, threads and memory, are the sample.

use pitot_meter::{Nanos, Random, median, now};
use pitot_sys::Unavailable;

use crate::{Place, Primitive, Stopwatch};

/// Pieces in the slice of a round.
const PIECES: u32 = 7;

/// Maximum number of times that the operations of a piece are doubled.
const DOUBLINGS: u32 = 32;

/// The settings of a measurement.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The primitives.
    pub primitives: Vec<&'static Primitive>,
    /// Where.
    pub place: Place,
    /// Rounds.
    pub rounds: u32,
    /// Time of a primitive in a round.
    pub slice: Nanos,
    /// The seed of the orders.
    pub seed: u64,
}

/// The cost of a primitive in one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Round {
    /// Nanoseconds an operation on the clock: the median of the pieces.
    pub wall: f64,
    /// The same of CPU time.
    pub cpu: f64,
    /// Operations timed.
    pub operations: u64,
}

/// The cost of a primitive.
#[derive(Debug)]
pub struct Figure {
    /// The primitive.
    pub primitive: &'static Primitive,
    /// Its rounds, in order, or why there are none.
    pub rounds: Result<Vec<Round>, Unavailable>,
}

/// Measures all primitives of a plan. `begins` is called before each round, and ends the measurement by returning `false`.
pub fn measure(plan: &Measurement, mut begins: impl FnMut(u32) -> bool) -> Vec<Figure> {
    let mut figures: Vec<Figure> =
        plan.primitives.iter().map(|primitive| Figure { primitive, rounds: Ok(Vec::new()) }).collect();
    let mut random = Random::new(plan.seed);
    for round in 0..plan.rounds {
        if !begins(round) {
            break;
        }
        let mut order: Vec<usize> = (0..figures.len()).collect();
        random.shuffle(&mut order);
        for index in order {
            let figure = &mut figures[index];
            if let Ok(rounds) = &mut figure.rounds {
                match slice(figure.primitive, &plan.place, plan.slice) {
                    Ok(of_round) => rounds.push(of_round),
                    Err(reason) => figure.rounds = Err(reason),
                }
            }
        }
    }
    figures
}

/// One slice of one primitive.
fn slice(primitive: &Primitive, place: &Place, length: Nanos) -> Result<Round, Unavailable> {
    let mut work = (primitive.make)(place)?;
    let mut piece = |count| -> Result<(Stopwatch, Nanos), Unavailable> {
        let mut watch = Stopwatch::default();
        let begin = now();
        work(count, &mut watch).map_err(|e| crate::contract::refused(primitive.name, &e))?;
        Ok((watch, now() - begin))
    };
    // Untimed parts count for the length too, since preparations may be long.
    let wanted = Nanos(length.0 / u64::from(PIECES));
    let mut count = 1u64;
    for _ in 0..DOUBLINGS {
        let (_, took) = piece(count)?;
        if took >= Nanos(wanted.0 / 2) {
            break;
        }
        count *= 2;
    }
    let (mut wall, mut cpu, mut operations) = (Vec::new(), Vec::new(), 0);
    for _ in 0..PIECES {
        let (watch, _) = piece(count)?;
        operations += watch.operations;
        if let Some((on_clock, of_cpu)) = watch.each() {
            wall.push(on_clock);
            cpu.push(of_cpu);
        }
    }
    let middle = |values: &mut [f64]| median(values).unwrap_or_default();
    Ok(Round { wall: middle(&mut wall), cpu: middle(&mut cpu), operations })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Operation;

    static COUNTED: Primitive = Primitive {
        name: "counted",
        summary: "",
        operation: Operation::Call,
        make: |_| {
            Ok(Box::new(|count, watch| {
                watch.operations += count;
                watch.wall += Nanos(count * 100);
                pitot_meter::burn(Nanos(count * 1000));
                Ok(())
            }))
        },
    };
    static MISSING: Primitive = Primitive {
        name: "missing",
        summary: "",
        operation: Operation::Call,
        make: |_| Err(crate::contract::refused("it", &std::io::ErrorKind::Unsupported.into())),
    };

    fn plan() -> Measurement {
        Measurement {
            primitives: vec![&COUNTED, &MISSING],
            place: Place { cpu: 0, other_cpu: None, dir: std::env::temp_dir() },
            rounds: 3,
            slice: Nanos::from_millis(1),
            seed: 1,
        }
    }

    #[test]
    fn every_round_has_every_primitive_that_can_be_measured() {
        let figures = measure(&plan(), |_| true);
        let rounds = figures[0].rounds.as_ref().unwrap();
        assert_eq!(rounds.len(), 3);
        assert!(rounds.iter().all(|round| round.wall == 100.0 && round.operations >= 7));
        assert!(figures[1].rounds.is_err());
    }

    #[test]
    fn a_measurement_that_is_ended_keeps_whole_rounds() {
        let figures = measure(&plan(), |round| round < 1);
        assert_eq!(figures[0].rounds.as_ref().unwrap().len(), 1);
    }
}
