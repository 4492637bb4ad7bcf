//! Simulated runs with a known truth.

use pitot_meter::Random;

/// `n` values of an autoregression whose standard deviation is 1.
pub fn autoregression(persistence: f64, n: usize, random: &mut Random) -> Vec<f64> {
    let innovation = (1.0 - persistence * persistence).sqrt();
    let mut value = random.normal();
    (0..n)
        .map(|_| {
            value = persistence * value + innovation * random.normal();
            value
        })
        .collect()
}

/// Values every ten seconds.
pub fn every_ten_seconds(values: impl IntoIterator<Item = f64>) -> Vec<(f64, f64)> {
    values.into_iter().enumerate().map(|(i, value)| (10.0 * i as f64, value)).collect()
}

/// A run of ten minutes whose truth is known, by the noise of its seed.
pub struct Scenario {
    pub name: &'static str,
    pub points: fn(&mut Random) -> Vec<(f64, f64)>,
}

const MINUTES_10: usize = 60;

/// RSS in KiB: 50 MiB, what a server has leaked, in whole pages or arenas, and buffers that come and go.
fn resident(random: &mut Random, leaked_kib: impl Fn(f64) -> f64, grain_kib: f64) -> Vec<(f64, f64)> {
    let noise = autoregression(0.5, MINUTES_10, random);
    let phase = random.unit();
    every_ten_seconds((0..MINUTES_10).map(|i| {
        let leaked = ((leaked_kib(10.0 * i as f64) / grain_kib + phase).floor()) * grain_kib;
        51_200.0 + leaked + (10.0 * noise[i] / 4.0).round() * 4.0
    }))
}

/// A count of descriptors or threads: a base, one for each 10,000 requests, and those of connections that come and go.
fn count(random: &mut Random, requests_per_second: f64) -> Vec<(f64, f64)> {
    let noise = autoregression(0.3, MINUTES_10, random);
    let phase = random.unit();
    every_ten_seconds((0..MINUTES_10).map(|i| {
        40.0 + (requests_per_second * 10.0 * i as f64 / 10_000.0 + phase).floor() + (1.5 * noise[i]).round()
    }))
}

/// A rise of `size` that ends after a share of the run.
fn plateau(random: &mut Random, share: f64, size: f64, persistence: f64) -> Vec<(f64, f64)> {
    let noise = autoregression(persistence, MINUTES_10, random);
    every_ten_seconds((0..MINUTES_10).map(|i| {
        let done = (i as f64 / (share * MINUTES_10 as f64)).min(1.0);
        1_000.0 + size * done + 10.0 * noise[i]
    }))
}

/// What must be declared.
pub const DRIFTS: &[Scenario] = &[
    Scenario { name: "1 KiB per 1000 requests, 1000/s, pages of 4 KiB", points: |r| resident(r, |t| t, 4.0) },
    Scenario { name: "the same, arenas of 132 KiB", points: |r| resident(r, |t| t, 132.0) },
    Scenario { name: "1 KiB per 1000 requests, 20000/s, pages", points: |r| resident(r, |t| 20.0 * t, 4.0) },
    Scenario { name: "the same, arenas", points: |r| resident(r, |t| 20.0 * t, 132.0) },
    Scenario {
        name: "the same after a warm-up of 8 MiB in a minute",
        points: |r| resident(r, |t| 20.0 * t + 8_192.0 * (t / 60.0).min(1.0), 132.0),
    },
    Scenario { name: "a descriptor per 10,000 requests, 1000/s", points: |r| count(r, 1_000.0) },
    Scenario { name: "a descriptor per 10,000 requests, 20000/s", points: |r| count(r, 20_000.0) },
    Scenario {
        name: "a thread per 10,000 requests, 1000/s, nothing else",
        points: |r| {
            let phase = r.unit();
            every_ten_seconds((0..MINUTES_10).map(|i| 8.0 + (i as f64 + phase).floor()))
        },
    },
    Scenario {
        name: "a thread per 10,000 requests, 200/s, nothing else",
        points: |r| {
            let phase = r.unit();
            every_ten_seconds((0..MINUTES_10).map(|i| 8.0 + (i as f64 / 5.0 + phase).floor()))
        },
    },
    Scenario {
        name: "p99 creeps by 2% a minute, noise of 10%",
        points: |r| {
            every_ten_seconds(
                (0..MINUTES_10).map(|i| 2e6 * 1.02f64.powf(i as f64 / 6.0) * (0.1 * r.normal()).exp()),
            )
        },
    },
];

/// What must not be declared: growth that has ended, or a step.
pub const SETTLED: &[Scenario] = &[
    Scenario { name: "plateau after 1/4", points: |r| plateau(r, 0.25, 1_000.0, 0.3) },
    Scenario { name: "plateau after 1/2", points: |r| plateau(r, 0.5, 1_000.0, 0.3) },
    Scenario { name: "plateau after 3/4", points: |r| plateau(r, 0.75, 1_000.0, 0.3) },
    Scenario {
        name: "plateau after 1/4, noise as a sixth of it, AR 0.6",
        points: |r| plateau(r, 0.25, 60.0, 0.6),
    },
    Scenario {
        name: "plateau after 1/2, noise as a tenth of it, AR 0.6",
        points: |r| plateau(r, 0.5, 100.0, 0.6),
    },
    Scenario {
        name: "a cache that fills exponentially in 1 minute",
        points: |r| {
            every_ten_seconds(
                (0..MINUTES_10).map(|i| 1e4 - 1e3 * (-(i as f64) / 6.0).exp() + 10.0 * r.normal()),
            )
        },
    },
    Scenario {
        name: "RSS that rises in arenas until 1/2",
        points: |r| resident(r, |t| 20.0 * t.min(300.0), 132.0),
    },
    Scenario {
        name: "a pool of threads that grows once",
        points: |r| {
            let at = 10 + r.below(40);
            every_ten_seconds((0..MINUTES_10).map(|i| if i < at { 8.0 } else { 12.0 }))
        },
    },
    Scenario { name: "a mean that steps by 10%", points: step_by_a_tenth },
];

/// A rate of 1000/s with noise of 2% that falls by 10% at 300 s.
pub fn step_by_a_tenth(random: &mut Random) -> Vec<(f64, f64)> {
    let noise = autoregression(0.3, MINUTES_10, random);
    every_ten_seconds((0..MINUTES_10).map(|i| if i < 30 { 1_000.0 } else { 900.0 } + 20.0 * noise[i]))
}
