//! Durability: whether servers still had what they acknowledged, if that was checked.

use pitot_record::Metric;
use pitot_record::Repetition;
use pitot_record::metric::named;

use crate::analysis::Analysis;
use crate::number::count;

const ACKNOWLEDGED: &Metric = named("acknowledged");
const LOST: &Metric = named("lost");
const DOUBLED: &Metric = named("doubled");

/// The sentence, if durability was checked. Failed repetitions count: a loss fails a repetition.
pub(super) fn durability(a: &Analysis<'_>) -> Option<String> {
    let all = a.cells.iter().flat_map(|cell| &cell.record.repetitions);
    let sum = |metric: &Metric| all.clone().filter_map(|r| metric.of(r)).sum::<f64>() as u64;
    let looked_at = all.clone().filter(|r| ACKNOWLEDGED.of(r).is_some()).count();
    if looked_at == 0 {
        return None;
    }
    let what = all.clone().find_map(kind).unwrap_or("requests");
    let acknowledged = count(sum(ACKNOWLEDGED));
    let doubled = match sum(DOUBLED) {
        0 => String::new(),
        doubled => format!(" {} are stored more than once.", count(doubled)),
    };
    let losers: Vec<String> = a
        .cells
        .iter()
        .filter_map(|cell| {
            let lost = |r: &Repetition| LOST.of(r).filter(|lost| *lost > 0.0);
            let all: Vec<f64> = cell.record.repetitions.iter().filter_map(lost).collect();
            let lost = all.iter().sum::<f64>() as u64;
            (lost > 0).then(|| format!("**{}** {}", cell.record.label(), count(lost)))
        })
        .collect();
    Some(match losers.is_empty() {
        true => format!("All {acknowledged} acknowledged {what} are present and intact.{doubled}"),
        false => format!(
            "Lost or incomplete, of {acknowledged} acknowledged {what}: {}.{doubled}",
            losers.join(", ")
        ),
    })
}

fn kind(repetition: &Repetition) -> Option<&'static str> {
    Some(repetition.load.as_ref()?.durability.as_ref()?.of.words().1)
}
