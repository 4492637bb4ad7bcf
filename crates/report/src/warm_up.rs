//! Warm-ups that lasted until a server's rate had settled.

use pitot_plan::SERVER_FACTOR;
use pitot_record::{CellRecord, Run};

use crate::number::span;

/// A sentence for each such server: how long its start and its warm-up took.
pub(crate) fn sentences(run: &Run) -> Vec<String> {
    let mut servers: Vec<(String, Vec<f64>, Vec<f64>)> = Vec::new();
    for cell in run.cells.iter().chain(&run.controls) {
        let name = name(cell);
        for repetition in &cell.repetitions {
            let Some(seconds) = repetition.warmup_s else { continue };
            let at = servers.iter().position(|(known, ..)| *known == name).unwrap_or_else(|| {
                servers.push((name.clone(), Vec::new(), Vec::new()));
                servers.len() - 1
            });
            servers[at].1.push(seconds);
            servers[at].2.push(repetition.ready_s);
        }
    }
    let words = |(name, warm_ups, starts): (String, Vec<f64>, Vec<f64>)| {
        format!(
            "**{name}** was ready {} after its start; its rate settled after {} of load.",
            range(starts),
            range(warm_ups)
        )
    };
    servers.into_iter().map(words).collect()
}

fn name(cell: &CellRecord) -> String {
    let server = cell.factors.iter().find(|factor| factor.name == SERVER_FACTOR);
    server.map_or_else(|| cell.label(), |factor| factor.level.clone())
}

/// `4.5 s`, or `4.5 s (3 s to 6 s)`: the median and the extremes.
fn range(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    let median = span(values[values.len() / 2]);
    let (least, most) = (span(values[0]), span(values[values.len() - 1]));
    if least == most { median } else { format!("{median} ({least} to {most})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_its_median_and_its_extremes() {
        assert_eq!(range(vec![4.5]), "4.5 s");
        assert_eq!(range(vec![6.0, 3.0, 4.5]), "4.5 s (3 s to 6 s)");
    }
}
