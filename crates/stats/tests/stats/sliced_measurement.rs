//! The promise of a sliced measurement, simulated: its intervals cover, its families err in at most one run of twenty,
//! and it finds what it should, on a machine as bad as shared ones are.
//!
//! The ordinary test simulates some scenarios, a thousand runs of each, and its limits allow for the chance in so
//! many. With `PITOT_SIMULATED_RUNS` it simulates all of them, that many runs each, and prints the tables that are
//! in docs/method-slices.md.

mod machine;

use machine::{Figure, Luck, Machine, Setting};
use pitot_stats::{
    ALPHA, Comparison, Decision, Random, Samples, generation_log_ratio, generations_needed, hodges_lehmann,
    judge, judge_control, median, more_generations, round_log_ratios, trimmed_mean,
};

/// A shared machine on a usual day, and servers whose ratio moves by 5% from start to start.
const BUSY: Setting = Setting {
    steal: 0.15,
    drift: 0.08,
    slice_noise: 0.05,
    process_spread: 0.035,
    luck: Luck::Normal,
    carry_over: 0.03,
    fixed_order: false,
    candidates: 4,
    rounds: 6,
    slice_s: 0.04,
};
const QUIET: Setting = Setting { steal: 0.01, drift: 0.02, slice_noise: 0.02, process_spread: 0.01, ..BUSY };
const HOSTILE: Setting =
    Setting { steal: 0.45, drift: 0.15, slice_noise: 0.08, process_spread: 0.05, ..BUSY };

/// The ordinary test takes the first of them.
const SCENARIOS: [(&str, Setting, Figure); 8] = [
    ("busy (15% steal), CPU", BUSY, Figure::CpuPerRequest),
    ("hostile (45% steal), throughput", HOSTILE, Figure::RequestsPerSecond),
    ("hostile, CPU", HOSTILE, Figure::CpuPerRequest),
    ("busy, throughput", BUSY, Figure::RequestsPerSecond),
    ("quiet (1% steal), CPU", QUIET, Figure::CpuPerRequest),
    (
        "starts that are good or bad by 7%, CPU",
        Setting { luck: Luck::TwoPoint, process_spread: 0.07, ..BUSY },
        Figure::CpuPerRequest,
    ),
    ("an arm that slows the next by 20%, CPU", Setting { carry_over: 0.2, ..BUSY }, Figure::CpuPerRequest),
    ("12 candidates, 3 rounds, CPU", Setting { candidates: 12, rounds: 3, ..BUSY }, Figure::CpuPerRequest),
];

/// Generations of a run that is judged once.
const GENERATIONS: u32 = 12;
/// Where a run that goes on until it has decided gives up.
const AT_MOST: u32 = 60;

/// So many runs of everything; `None` for the ordinary test.
fn all_runs() -> Option<u64> {
    std::env::var("PITOT_SIMULATED_RUNS").ok().map(|n| n.parse().expect("PITOT_SIMULATED_RUNS is a number"))
}

/// The scenarios and the runs of each.
fn scenarios(ordinary: usize, runs: u64) -> (&'static [(&'static str, Setting, Figure)], u64) {
    all_runs().map_or((&SCENARIOS[..ordinary], runs), |all| (&SCENARIOS[..], all))
}

/// Three standard errors of a share of so many runs, in percent.
fn chance(share: f64, runs: u64) -> f64 {
    300.0 * (share * (1.0 - share) / runs as f64).sqrt()
}

/// The log ratios of a run of equal servers: of the twin, then of the candidates, in order of the generations.
///
/// A candidate that differs by a factor has the logarithm of it added to each.
fn run(setting: Setting, figure: Figure, generations: u32, seed: u64) -> Vec<Vec<f64>> {
    let mut machine = Machine::new(setting, seed);
    let mut arms = vec![Vec::new(); 1 + setting.candidates];
    for number in 0..generations {
        let slices = machine.generation(seed, number, figure);
        for (arm, of_arm) in arms.iter_mut().zip(&slices[1..]) {
            arm.push(
                generation_log_ratio(&round_ratios(of_arm, &slices[0])).expect("every slice has a figure"),
            );
        }
    }
    arms
}

/// The log ratios of the rounds of two arms.
fn round_ratios(candidate: &[(u32, f64)], baseline: &[(u32, f64)]) -> Vec<f64> {
    round_log_ratios(candidate, baseline).into_iter().map(|(_, ratio)| ratio).collect()
}

/// The first `generations` of an arm whose true ratio is `truth`.
fn seen(arm: &[f64], generations: usize, truth: f64) -> Vec<f64> {
    arm[..generations].iter().map(|ratio| ratio + truth.ln()).collect()
}

/// The true ratios of the candidates, in turn from `ratios`.
fn truths(setting: &Setting, ratios: &[f64]) -> Vec<f64> {
    (0..setting.candidates).map(|i| ratios[i % ratios.len()]).collect()
}

/// What happened in how many runs.
#[derive(Default)]
struct Tally {
    runs: u64,
    false_differences: u64,
    false_alike: u64,
    control_alarms: u64,
    comparisons: u64,
    covered: u64,
    widths: Vec<f64>,
    stops: Vec<usize>,
    undecided: u64,
}

impl Tally {
    /// Adds a run whose candidates truly have these ratios.
    fn add(&mut self, judged: &[Comparison], control: &Comparison, truth: &[f64], tolerance: f64) {
        let beyond = |true_ratio: f64| true_ratio.ln().abs() - tolerance.ln_1p();
        let wrong = |(c, &true_ratio): (&Comparison, &f64)| {
            let direction = (c.ratio - 1.0) * true_ratio.ln();
            c.decision.is_difference() && (beyond(true_ratio) <= 1e-12 || direction < 0.0)
        };
        let wrongly_alike = |(c, &true_ratio): (&Comparison, &f64)| {
            c.decision == Decision::Alike && beyond(true_ratio) >= -1e-12
        };
        let pairs = || judged.iter().zip(truth);
        self.runs += 1;
        self.false_differences += u64::from(pairs().any(wrong));
        self.false_alike += u64::from(pairs().any(wrongly_alike));
        self.control_alarms += u64::from(control.decision.is_difference());
        for (c, &true_ratio) in pairs() {
            let Some(interval) = c.interval else { continue };
            self.comparisons += 1;
            self.covered += u64::from(interval.contains(true_ratio));
            self.widths.push(interval.high / interval.low);
        }
        self.undecided += u64::from(judged.iter().any(|c| !c.decision.is_decided()));
    }

    fn percent(&self, count: u64) -> f64 {
        100.0 * count as f64 / self.runs as f64
    }

    fn coverage(&self) -> f64 {
        100.0 * self.covered as f64 / self.comparisons as f64
    }
}

fn quantile_of<T: Copy + PartialOrd>(values: &[T], q: f64) -> T {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(|a, b| a.partial_cmp(b).expect("numbers"));
    sorted[((sorted.len() - 1) as f64 * q).round() as usize]
}

#[test]
fn intervals_cover_and_equal_servers_are_told_apart_in_at_most_one_family_of_twenty() {
    println!("| scenario | interval covers | its width, high/low | families in error | control alarms |");
    println!("|---|---|---|---|---|");
    let (scenarios, runs) = scenarios(2, 600);
    for &(name, setting, figure) in scenarios {
        let mut t = Tally::default();
        for seed in 0..runs {
            let mut arms = run(setting, figure, GENERATIONS, seed).into_iter().map(Samples::Generations);
            let control = judge_control(&arms.next().expect("a twin")).expect("figures");
            // A tolerance of zero is the hardest case.
            let judged = judge(&arms.collect::<Vec<_>>(), 0.0);
            let judged: Vec<Comparison> = judged.into_iter().flatten().collect();
            t.add(&judged, &control, &truths(&setting, &[1.0]), 0.0);
        }
        let (errors, alarms) = (t.percent(t.false_differences), t.percent(t.control_alarms));
        let width = quantile_of(&t.widths, 0.5);
        println!("| {name} | {:.1}% | {width:.3} | {errors:.1}% | {alarms:.1}% |", t.coverage());
        let slack = chance(0.05, runs);
        assert!((93.0 - slack..=97.0 + slack).contains(&t.coverage()), "{name}: {}", t.coverage());
        assert!(errors <= 5.0 + slack, "{name}: {errors}");
        assert!(alarms <= 1.0 + chance(0.01, runs), "{name}: {alarms}");
    }
}

#[test]
fn a_run_that_stops_when_it_has_decided_errs_in_at_most_one_family_of_twenty() {
    println!(
        "| scenario | truth | interval covers | false differences | false \"alike\" | control alarms | \
         decided | generations: median, 90% |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let (scenarios, runs) = scenarios(1, 300);
    for &(name, setting, figure) in scenarios {
        let families = [
            ("all equal, tolerance 0", &[1.0][..], 0.0),
            // Equal, at either limit of the tolerance, and different: never decided as a whole.
            ("1, 1.03, 1/1.03, 1.1; tolerance 3%", &[1.0, 1.03, 1.0 / 1.03, 1.1][..], 0.03),
            ("1, 1.15, 0.85, 1; tolerance 6%", &[1.0, 1.15, 0.85, 1.0][..], 0.06),
        ];
        let mut tallies = families.map(|_| Tally::default());
        for seed in 0..runs {
            let arms = run(setting, figure, AT_MOST, seed);
            for ((_, ratios, tolerance), t) in families.iter().zip(&mut tallies) {
                let truths = truths(&setting, ratios);
                let (stop, judged, way) = where_it_stops(&arms[1..], &truths, *tolerance);
                let control = judge_control(&way(seen(&arms[0], stop, 1.0)));
                t.add(&judged, &control.expect("figures"), &truths, *tolerance);
                t.stops.push(stop);
            }
        }
        for ((family, ..), t) in families.iter().zip(&tallies) {
            let (different, alike) = (t.percent(t.false_differences), t.percent(t.false_alike));
            let (alarms, decided) = (t.percent(t.control_alarms), 100.0 - t.percent(t.undecided));
            let (middle, most) = (quantile_of(&t.stops, 0.5), quantile_of(&t.stops, 0.9));
            println!(
                "| {name} | {family} | {:.1}% | {different:.1}% | {alike:.1}% | {alarms:.1}% | {decided:.0}% | \
                 {middle}, {most} |",
                t.coverage(),
            );
            let slack = chance(0.05, runs);
            assert!(t.coverage() >= 95.0 - slack, "{name}, {family}: {}", t.coverage());
            assert!(
                different <= 5.0 + slack && alike <= 5.0 + slack,
                "{name}, {family}: {different} {alike}"
            );
            assert!(alarms <= 1.0 + chance(0.01, runs), "{name}, {family}: {alarms}");
        }
    }
}

/// Makes samples of log ratios.
type Way = fn(Vec<f64>) -> Samples;

/// Where a run that looks after every generation stops, what it says then, and whether its time was over. Evidence only grows, so
/// the first look that decides everything is found by halving.
fn where_it_stops(arms: &[Vec<f64>], truths: &[f64], tolerance: f64) -> (usize, Vec<Comparison>, Way) {
    let judged_after = |generations: usize, way: Way| -> Vec<Comparison> {
        let arms = arms.iter().zip(truths);
        let family: Vec<Samples> = arms.map(|(arm, &truth)| way(seen(arm, generations, truth))).collect();
        judge(&family, tolerance).into_iter().flatten().collect()
    };
    let decided = |judged: &[Comparison]| judged.iter().all(|c| c.decision.is_decided());
    let (mut too_few, mut stop) = (generations_needed(arms.len(), true) - 1, AT_MOST as usize);
    let mut judged = judged_after(stop, Samples::UntilDecided);
    if !decided(&judged) {
        return (stop, judged_after(stop, Samples::TimeOver), Samples::TimeOver);
    }
    while too_few + 1 < stop {
        let middle = usize::midpoint(too_few, stop);
        let then = judged_after(middle, Samples::UntilDecided);
        if decided(&then) {
            (stop, judged) = (middle, then);
        } else {
            too_few = middle;
        }
    }
    (stop, judged, Samples::UntilDecided)
}

/// Runs of one minute with one candidate: how often is it found, and how many rounds should a generation have?
#[test]
fn a_minute_finds_5_percent_of_cpu_and_10_percent_of_throughput() {
    println!("| truth, steal | rounds | generations in 60 s | found: tolerance 0 | 1% | 2% |");
    println!("|---|---|---|---|---|---|");
    let (steals, all_rounds, runs) = match all_runs() {
        Some(runs) => (&[0.11, 0.3][..], &[2, 4, 8, 16][..], runs),
        None => (&[0.11][..], &[4][..], 200),
    };
    for (what, figure, truth) in [
        ("CPU per request x 1.05", Figure::CpuPerRequest, 1.05),
        ("throughput x 0.9", Figure::RequestsPerSecond, 0.9),
    ] {
        for (&steal, &rounds) in steals.iter().flat_map(|s| all_rounds.iter().map(move |r| (s, r))) {
            let setting = Setting { candidates: 1, rounds, steal, ..BUSY };
            // Two slices of each of three arms and the lead-in.
            let generation_s = machine::START_S + f64::from(rounds) * 7.0 * setting.slice_s;
            let generations = (60.0 / generation_s) as u32;
            let mut found = [0, 0, 0];
            for seed in 0..runs {
                let ratios = seen(&run(setting, figure, generations, seed)[1], generations as usize, truth);
                for (tolerance, found) in [0.0, 0.01, 0.02].into_iter().zip(&mut found) {
                    let judged = judge(&[Samples::Generations(ratios.clone())], tolerance).remove(0);
                    let right = if truth > 1.0 { Decision::Higher } else { Decision::Lower };
                    *found += u64::from(judged.expect("figures").decision == right);
                }
            }
            let [at_0, at_1, at_2] = found.map(|n| 100.0 * n as f64 / runs as f64);
            println!(
                "| {what}, {:.0}% | {rounds} | {generations} | {at_0:.0}% | {at_1:.0}% | {at_2:.0}% |",
                100.0 * steal
            );
            if rounds == 4 && steal < 0.2 {
                assert!(at_0 >= 95.0 && at_1 >= 85.0, "{what}: {at_0} {at_1}");
            }
        }
    }
}

/// What the generations that a forecast names show in truth, with one look and with looks after each.
#[test]
fn forecasts_name_enough_generations() {
    println!(
        "| comparisons | effect / spread | forecast | found | forecast, until decided | decided by then | \
         until decided: median, 80%, 90% |"
    );
    println!("|---|---|---|---|---|---|---|");
    const SPREAD: f64 = 0.05;
    // Three generations whose robust deviation is the spread.
    let three = [-SPREAD / 1.048_358, 0.0, SPREAD / 1.048_358].to_vec();
    // Runs of hundreds of generations each: a thousand of them say it well enough.
    let runs = all_runs().map_or(100, |runs| runs.min(1_000));
    for size in [1, 5, 14] {
        for strength in [0.5, 0.8, 1.2, 2.0, 4.0] {
            let effect: f64 = strength * SPREAD;
            let forecast = |seen: Samples| 3 + more_generations(&seen, effect.exp_m1(), size, 0.0).unwrap();
            let once = forecast(Samples::Generations(three.clone()));
            let watched = forecast(Samples::UntilDecided(three.clone()));
            let mut random = Random::new(11);
            let (mut found, mut by_then, mut stops) = (0, 0, Vec::new());
            for _ in 0..runs {
                let ratios: Vec<f64> = (0..3 * watched).map(|_| effect + SPREAD * random.normal()).collect();
                let shown = |samples: Samples| {
                    let p = judge(&[samples], 0.0)[0].as_ref().and_then(|c| c.p_alone);
                    p.is_some_and(|p| p * size as f64 <= ALPHA)
                };
                found += u64::from(shown(Samples::Generations(ratios[..once].to_vec())));
                let (mut too_few, mut stop) = (0, ratios.len() + 1);
                while too_few + 1 < stop {
                    let middle = usize::midpoint(too_few, stop);
                    if shown(Samples::UntilDecided(ratios[..middle].to_vec())) {
                        stop = middle;
                    } else {
                        too_few = middle;
                    }
                }
                stops.push(stop);
                // The time of the forecast is over then.
                by_then += u64::from(stop <= watched || shown(Samples::TimeOver(ratios[..watched].to_vec())));
            }
            let percent = |count: u64| 100.0 * count as f64 / runs as f64;
            let (power, by_then) = (percent(found), percent(by_then));
            let [middle, most, nearly_all] = [0.5, 0.8, 0.9].map(|q| quantile_of(&stops, q));
            println!(
                "| {size} | {strength} | {once} | {power:.0}% | {watched} | {by_then:.0}% | \
                 {middle}, {most}, {nearly_all} |"
            );
            let slack = chance(0.8, runs);
            assert!(power >= 74.0 - slack && by_then >= 72.0 - slack, "{size} {strength}: {power} {by_then}");
        }
    }
}

/// The centre of a generation's rounds: which one spreads least from generation to generation?
#[test]
fn the_middle_half_of_the_rounds_spreads_little_whatever_the_figure() {
    println!("| figure, steal, rounds | mean | median | Hodges-Lehmann | middle half |");
    println!("|---|---|---|---|---|");
    let runs = all_runs().unwrap_or(200);
    for figure in [Figure::CpuPerRequest, Figure::RequestsPerSecond] {
        for (steal, rounds) in [(0.02, 8), (0.11, 4), (0.11, 8), (0.11, 16), (0.3, 8), (0.5, 8)] {
            let setting = Setting { steal, rounds, process_spread: 0.0, candidates: 0, ..BUSY };
            let mut centres = [const { Vec::new() }; 4];
            for seed in 0..runs {
                let slices = Machine::new(setting, seed).generation(seed, 0, figure);
                let ratios = round_ratios(&slices[1], &slices[0]);
                centres[0].push(trimmed_mean(&ratios, 0).unwrap());
                centres[1].push(median(&ratios).unwrap());
                centres[2].push(hodges_lehmann(&ratios).unwrap());
                centres[3].push(generation_log_ratio(&ratios).unwrap());
            }
            let spread =
                centres.map(|c: Vec<f64>| (c.iter().map(|x| x * x).sum::<f64>() / c.len() as f64).sqrt());
            let [mean, median, hodges_lehmann, middle] = spread;
            println!(
                "| {figure:?}, {:.0}%, {rounds} | {mean:.4} | {median:.4} | {hodges_lehmann:.4} | {middle:.4} |",
                100.0 * steal
            );
            let best = spread.into_iter().fold(f64::INFINITY, f64::min);
            assert!(middle <= 1.15 * best, "{figure:?} {steal} {rounds}: {spread:?}");
        }
    }
}

/// A measurement that favours a position: the control says so, and the balanced order does not need it to.
#[test]
fn the_control_exposes_a_measurement_that_favours_a_position() {
    println!("| order | what the last arm leaves to the next | control alarms | families in error |");
    println!("|---|---|---|---|");
    let runs = all_runs().unwrap_or(100);
    for (fixed_order, carry_over) in [(true, 0.02), (true, 0.05), (true, 0.2), (false, 0.2)] {
        let setting = Setting { fixed_order, carry_over, ..BUSY };
        let mut t = Tally::default();
        for seed in 0..runs {
            let mut arms =
                run(setting, Figure::CpuPerRequest, 20, seed).into_iter().map(Samples::Generations);
            let control = judge_control(&arms.next().expect("a twin")).expect("figures");
            let judged = judge(&arms.collect::<Vec<_>>(), 0.0);
            let judged: Vec<Comparison> = judged.into_iter().flatten().collect();
            t.add(&judged, &control, &truths(&setting, &[1.0]), 0.0);
        }
        let (alarms, errors) = (t.percent(t.control_alarms), t.percent(t.false_differences));
        let order = if fixed_order { "fixed" } else { "balanced" };
        println!("| {order} | {:.0}% | {alarms:.1}% | {errors:.1}% |", 100.0 * carry_over);
        match fixed_order {
            true => assert!(carry_over < 0.2 || alarms > 80.0, "{carry_over}: {alarms}"),
            false => assert!(alarms <= 1.0 + chance(0.01, runs), "{alarms}"),
        }
    }
}

/// Where the promise ends: tests of a centre suppose that the ratios lie symmetric about it.
#[test]
fn skewed_starts_of_one_side_only_are_a_weak_point() {
    println!("| spread of starts | generations | one look: equal means told apart | until decided |");
    println!("|---|---|---|---|");
    let (runs, all) = all_runs().map_or((100, &[12][..]), |runs| (runs, &[12, 30, 60, 120][..]));
    for (spread, &generations) in [0.05, 0.15].iter().flat_map(|s| all.iter().map(move |n| (s, n))) {
        let luck = Luck::SkewedCandidates;
        let setting = Setting { luck, process_spread: *spread, candidates: 1, ..BUSY };
        let mut apart = [0, 0];
        for seed in 0..runs {
            let ratios = run(setting, Figure::CpuPerRequest, generations, seed).remove(1);
            let ways = [Samples::Generations(ratios.clone()), Samples::UntilDecided(ratios)];
            for (samples, apart) in ways.into_iter().zip(&mut apart) {
                let judged = judge(&[samples], 0.0).remove(0).expect("figures");
                *apart += u64::from(judged.decision.is_difference());
            }
        }
        let [once, watched] = apart.map(|n: u64| 100.0 * n as f64 / runs as f64);
        println!("| {:.0}% | {generations} | {once:.1}% | {watched:.1}% |", 100.0 * spread);
        assert!(generations > 12 || once < 10.0 + chance(0.1, runs), "{once}");
    }
}
