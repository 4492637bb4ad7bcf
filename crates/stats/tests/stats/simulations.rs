//! What is declared of runs whose truth is known. The larger table: `cargo run -p pitot-stats --example levels`.

use crate::support::{DRIFTS, SETTLED, autoregression, every_ten_seconds, step_by_a_tenth};
use pitot_meter::Random;
use pitot_stats::drift::{Course, Drift, Kind, Question, Series, Tolerance, drift, drifts};

fn ask(points: &[(f64, f64)], seed: u64) -> Drift {
    let question = Question { resamples: 199, seed, ..Question::default() };
    drift(&Series { figure: "it", points }, &question).unwrap()
}

#[test]
fn noise_of_any_autocorrelation_is_no_drift() {
    const SERIES: u64 = 200;
    let mut all = 0;
    for n in [60, 720] {
        for persistence in [0.0, 0.3, 0.6, 0.9] {
            let mut random = Random::new(17);
            let alarms = (0..SERIES)
                .filter(|seed| {
                    ask(&every_ten_seconds(autoregression(persistence, n, &mut random)), *seed).declared
                })
                .count();
            // 5%, and two standard deviations of a count of 200.
            assert!(alarms <= 16, "{alarms} of {SERIES} at {persistence}, {n} values");
            all += alarms;
        }
    }
    assert!(all as f64 <= 0.06 * 8.0 * SERIES as f64, "{all}");
}

#[test]
fn leaks_of_ten_minutes_are_declared() {
    for scenario in DRIFTS {
        let mut random = Random::new(23);
        let declared = (0..20).filter(|seed| ask(&(scenario.points)(&mut random), *seed).declared).count();
        let least = if scenario.name.starts_with("p99") { 17 } else { 20 };
        assert!(declared >= least, "{}: {declared} of 20", scenario.name);
    }
}

#[test]
fn growth_that_has_ended_is_not_declared() {
    for scenario in SETTLED {
        let mut random = Random::new(29);
        let declared = (0..20).filter(|seed| ask(&(scenario.points)(&mut random), *seed).declared).count();
        assert!(declared <= 3, "{}: {declared} of 20", scenario.name);
    }
}

#[test]
fn a_step_of_a_tenth_is_marked_at_the_right_minute() {
    let mut random = Random::new(31);
    let marked = (0..20).filter(|seed| {
        let answer = ask(&step_by_a_tenth(&mut random), *seed);
        answer.changes.iter().any(|change| {
            change.kind == Kind::Step
                && (change.seconds - 295.0).abs() <= 30.0
                && (change.size + 100.0).abs() < 40.0
        })
    });
    let marked = marked.count();
    assert!(marked >= 17, "{marked} of 20");
}

#[test]
fn a_shift_and_a_scale_change_nothing_and_a_reversal_turns_the_sign() {
    let mut random = Random::new(37);
    let noise = autoregression(0.3, 60, &mut random);
    let points = every_ten_seconds(noise.iter().enumerate().map(|(i, e)| e + 0.1 * i as f64));
    let answer = ask(&points, 1);
    assert!(answer.declared && answer.course == Course::Drifts);
    let scaled: Vec<_> = points.iter().map(|(t, y)| (t + 1_024.0, 4.0 * y + 8.0)).collect();
    let other = ask(&scaled, 1);
    assert!((other.slope_per_hour / answer.slope_per_hour - 4.0).abs() < 1e-6);
    assert_eq!(other.p, answer.p);
    let back: Vec<_> = points.iter().map(|(t, y)| (590.0 - t, *y)).collect();
    let back = ask(&back, 1);
    assert!(
        back.declared && (back.slope_per_hour + answer.slope_per_hour).abs() < 1e-6 * answer.slope_per_hour
    );
}

#[test]
fn the_tolerance_and_other_figures_are_heeded() {
    let line: Vec<_> = every_ten_seconds((0..60).map(f64::from));
    let flat: Vec<_> = every_ten_seconds((0..60).map(|i| f64::from(i % 2)));
    let series = [Series { figure: "line", points: &line }, Series { figure: "flat", points: &flat }];
    let declared = |tolerance| {
        let answers = drifts(&series, &Question { tolerance, ..Question::default() });
        answers.into_iter().map(|answer| answer.unwrap().declared).collect::<Vec<_>>()
    };
    assert_eq!(declared(Tolerance::PerHour(300.0)), [true, false]);
    assert_eq!(declared(Tolerance::PerHour(400.0)), [false, false]);
    assert_eq!(declared(Tolerance::SharePerHour(20.0)), [false, false]);
}

#[test]
fn odd_series_have_an_answer_or_say_why_not() {
    let question = Question { resamples: 99, ..Question::default() };
    let ask = |points: &[(f64, f64)]| drift(&Series { figure: "it", points }, &question);
    assert_eq!(
        ask(&[(0.0, 1.0), (f64::NAN, 2.0)]).unwrap_err().to_string(),
        "too few intervals for a trend of it: 1, and 12 are needed"
    );
    assert!(ask(&[(5.0, 1.0); 100]).is_err());
    assert!(!ask(&every_ten_seconds([0.0; 60])).unwrap().declared);
    assert!(!ask(&every_ten_seconds((0..60).map(|i| if i == 30 { 1e300 } else { 0.0 }))).unwrap().declared);
    // A lab that was down for hours, and a leak that went on.
    let gap: Vec<_> = (0..200).map(|i| f64::from(i) * 10.0 + if i < 100 { 0.0 } else { 20_000.0 }).collect();
    let gap: Vec<_> = gap.into_iter().enumerate().map(|(i, t)| (t, t / 100.0 + (i % 3) as f64)).collect();
    assert!(ask(&gap).unwrap().declared);
}
