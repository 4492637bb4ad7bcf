//! The table of false alarms and of detection: `cargo run --release -p pitot-stats --example levels [SERIES] [SEED]`.

#[path = "../tests/stats/support/mod.rs"]
mod support;

use pitot_meter::Random;
use pitot_stats::drift::{Correction, Question, Series, drift, mann_kendall};
use support::{DRIFTS, SETTLED, autoregression, every_ten_seconds};

fn main() {
    let series: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1_000);
    let seed: u64 = std::env::args().nth(2).and_then(|n| n.parse().ok()).unwrap_or(7);
    let question = Question { resamples: 399, ..Question::default() };
    println!("false alarms at 5%, of {series} series without a drift");
    println!(
        "{:>5} {:>4} {:>8} {:>8} {:>10} {:>10} {:>14}",
        "n", "AR", "drift", "change", "ties only", "Hamed-Rao", "Yue-Wang"
    );
    for n in [30, 60, 720] {
        for persistence in [0.0, 0.3, 0.6, 0.9] {
            let mut random = Random::new(seed);
            let mut alarms = [0; 5];
            for _ in 0..series {
                let values = autoregression(persistence, n, &mut random);
                let answer = ask(&every_ten_seconds(values.iter().copied()), &question, &mut random);
                alarms[0] += usize::from(answer.declared);
                alarms[1] += usize::from(!answer.changes.is_empty());
                for (i, correction) in
                    [Correction::Ties, Correction::HamedRao, Correction::YueWang].into_iter().enumerate()
                {
                    alarms[2 + i] += usize::from(mann_kendall(&values, correction).p < 0.05);
                }
            }
            let share = alarms.map(|count| format!("{:.1}%", 100.0 * count as f64 / series as f64));
            println!(
                "{n:>5} {persistence:>4} {:>8} {:>8} {:>10} {:>10} {:>14}",
                share[0], share[1], share[2], share[3], share[4]
            );
        }
    }
    for (title, scenarios) in
        [("declared, of what drifts", DRIFTS), ("declared, of what has settled", SETTLED)]
    {
        println!("{title}");
        for scenario in scenarios {
            let mut random = Random::new(11);
            let (mut declared, mut changes) = (0, 0);
            let runs = series / 4;
            for _ in 0..runs {
                let answer = ask(&(scenario.points)(&mut random), &question, &mut random);
                declared += usize::from(answer.declared);
                changes += usize::from(!answer.changes.is_empty());
            }
            println!("{:<60} {declared:>4} of {runs}, with changes {changes:>4}", scenario.name);
        }
    }
}

fn ask(points: &[(f64, f64)], question: &Question, random: &mut Random) -> pitot_stats::drift::Drift {
    let question = Question { seed: random.next_u64(), ..question.clone() };
    drift(&Series { figure: "it", points }, &question).expect("long enough")
}
