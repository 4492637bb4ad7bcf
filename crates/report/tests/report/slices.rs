//! A made-up run that was measured in slices.

use pitot_plan::Measure;
use pitot_record::{CellRecord, Run, Slice};
use pitot_stats::Random;

use crate::support::{Fixture, SMALL, written};

/// How a run is measured in slices, and how noisy that is.
#[derive(Clone, Copy)]
pub struct Slicing {
    /// Slices of a cell in a generation.
    pub slices: u32,
    /// The standard deviation of a server's throughput from one generation to the next, as a logarithm.
    pub rate_noise: f64,
    /// The same of its CPU time per request.
    pub cpu_noise: f64,
    /// The twin of a baseline is so many times as fast.
    pub twin: f64,
    /// Slices that follow one of the plan's first cell are so many times as fast.
    pub after_first: f64,
}

/// A machine as quiet as that of the other runs.
pub const QUIET: Slicing =
    Slicing { slices: 8, rate_noise: 0.02, cpu_noise: 0.01, twin: 1.0, after_first: 1.0 };

/// The small run that the snapshots of slices show.
pub const SLICED: Fixture = Fixture {
    servers: &["thread+blocking", "fork+blocking", "loop+poll", "loop+epoll-et"],
    repetitions: 12,
    ..SMALL
};

/// A run measured in slices, each repetition a generation, with a twin of each baseline.
pub fn sliced(fixture: &Fixture, how: Slicing) -> Run {
    let mut run = written(fixture);
    run.plan.measure = Measure::Slices;
    run.plan.generations = Some(fixture.repetitions);
    run.plan.slices = how.slices;
    run.plan.published.clear();
    let baseline = run.plan.baseline.clone().unwrap();
    let mut random = Random::new(fixture.seed ^ 0x511C);
    let first = run.cells[0].id;
    for twin in run.cells.iter().filter(|c| baseline.matches(&c.factors)) {
        let id = 1_000 + twin.id;
        run.controls.push(CellRecord { id, control_of: Some(twin.id), ..twin.clone() });
    }
    let order: Vec<i64> = run.cells.iter().chain(&run.controls).map(|c| c.id).collect();
    for cell in run.cells.iter_mut().chain(&mut run.controls) {
        cell.measure = Measure::Slices;
        for repetition in &mut cell.repetitions {
            let rate = (how.rate_noise * random.normal()).exp();
            let rate = if cell.control_of.is_some() { rate * how.twin } else { rate };
            let load = repetition.load.as_mut().unwrap();
            let used = repetition.resources.as_mut().unwrap();
            let cpu_ns =
                used.server_cpu_s / load.throughput_rps * 1e9 * (how.cpu_noise * random.normal()).exp();
            load.throughput_rps *= rate;
            used.steal_s = 0.04;
            used.server_cpu_s = cpu_ns * load.throughput_rps / 1e9;
            let own = order.iter().position(|id| *id == cell.id).unwrap();
            repetition.slices = (0..how.slices)
                .map(|number| {
                    // Every other slice follows the first cell of the plan, the others one that changes.
                    let other = order[(own + number as usize) % order.len()];
                    let predecessor = if number % 2 == 0 { first } else { other };
                    let carried = if predecessor == first { how.after_first } else { 1.0 };
                    let jitter = (0.01 * random.normal()).exp();
                    let requests = load.throughput_rps * 0.04 * carried * jitter;
                    Slice {
                        round: number / 2,
                        position: own as u32 + number % 2 * order.len() as u32,
                        predecessor: Some(predecessor),
                        began_unix_ns: 1_767_323_045_000_000_000 + u64::from(number) * 40_000_000,
                        late_ns: 30_000,
                        duration_ns: 38_000_000,
                        drain_ns: 2_000_000,
                        requests: requests as u64,
                        server_cpu_ns: Some((requests * cpu_ns) as u64),
                        client_cpu_ns: 9_000_000,
                        p50_ns: 500_000,
                        p90_ns: 800_000,
                        p99_ns: load.latency_ns.response.p99,
                        max_ns: 4_000_000,
                        ..Slice::default()
                    }
                })
                .collect();
        }
    }
    run
}
