//! A comparison as annotations of GitHub Actions.

use super::comparison::RunComparison;
use super::gate::{Gate, GateOutcome};
use super::words::{cautions, headline};
use crate::github::{Level, annotation};
use crate::phrase::{Tone, times, tone};
use pitot_results::VerdictKind;

/// Gates that are met and cells that fail only now are errors; gates that are undecided, and cells that got worse in the
/// plan's metric or are gone, are warnings; the rest is a notice.
pub(super) fn render(c: &RunComparison<'_>, gates: &[(Gate, GateOutcome)]) -> String {
    let mut out = String::new();
    for (gate, outcome) in gates {
        let level = match outcome {
            GateOutcome::Passed => Level::Notice,
            GateOutcome::Met(_) => Level::Error,
            GateOutcome::Undecided(_) => Level::Warning,
        };
        annotation(&mut out, level, &format!("gate {gate}"), &outcome.sentence(gate));
    }
    for pair in c.pairs.iter().filter(|p| p.verdict_b == VerdictKind::Failed) {
        let level = if pair.verdict_a == VerdictKind::Failed { Level::Warning } else { Level::Error };
        annotation(&mut out, level, &format!("{} failed", pair.label), &pair.b.verdict().reason);
    }
    for label in &c.only_a {
        annotation(&mut out, Level::Warning, label, "The second run does not have this cell.");
    }
    if let Some(table) = c.metrics.first() {
        for (pair, row) in c.pairs.iter().zip(&table.rows) {
            let worse = row.comparison.as_ref().filter(|x| tone(x, table.metric) == Some(Tone::Worse));
            if let Some(comparison) = worse {
                let first = if c.is_within { c.name_of_a() } else { "the first run".to_owned() };
                let message = format!("{}: {} that of {first}", table.metric.words.noun, times(comparison));
                annotation(&mut out, Level::Warning, &format!("{} got worse", pair.label), &message);
            }
        }
    }
    annotation(
        &mut out,
        Level::Notice,
        "pitot compare",
        format!("{} {}", headline(c), cautions(c).join(" ")).trim_end(),
    );
    out
}
