//! One cell of a run with its repetitions, and the verdict on all of them together.

use pitot_results::VerdictKind;

use super::repetition::Repetition;
use super::verdict::Verdict;
use pitot_plan::{FactorLevel, Measure, label};

/// One cell: a combination of levels with its repetitions.
#[derive(Clone, Debug)]
pub struct CellRecord {
    /// Its row in the file.
    pub id: i64,
    /// The levels, in the order of the plan's factors: the same factors in every cell of a run.
    pub factors: Vec<FactorLevel>,
    /// The server's command for a shell, with an example port.
    pub server_command: String,
    /// The load generator's command for a shell.
    pub load_command: String,
    /// How it is measured.
    pub measure: Measure,
    /// Why it is measured in fresh runs although the plan asks for slices; else empty.
    pub fresh_reason: String,
    /// The row of the cell whose A/A control it is; none for the cells of the plan.
    pub control_of: Option<i64>,
    /// Its repetitions, in the order of their blocks.
    pub repetitions: Vec<Repetition>,
}

impl CellRecord {
    /// The level of a factor.
    pub fn level(&self, factor: &str) -> Option<&FactorLevel> {
        self.factors.iter().find(|f| f.name == factor)
    }

    /// The levels joined, such as `loop+epoll-et, 1000`: unique within a run.
    pub fn label(&self) -> String {
        label(&self.factors)
    }

    /// The failed repetitions, whose figures do not count.
    pub fn failures(&self) -> impl Iterator<Item = &Repetition> {
        self.repetitions.iter().filter(|r| r.verdict.kind == VerdictKind::Failed)
    }

    /// `2 of 6 failed`, if some did.
    pub fn failures_in_words(&self) -> Option<String> {
        let failed = self.failures().count();
        (failed > 0).then(|| format!("{failed} of {} failed", self.repetitions.len()))
    }

    /// The verdict on the cell: `failed` if more than a third of its repetitions failed, else the most serious verdict
    /// that at least a third of the other repetitions have. The reason names failures first.
    pub fn verdict(&self) -> Verdict {
        let total = self.repetitions.len();
        let failed = self.failures().count();
        let failure = self.failures().next().map(|first| {
            let reason = format!("{failed} of {total} repetitions failed: {}", first.verdict.reason);
            Verdict { kind: VerdictKind::Failed, reason, figures: first.verdict.figures.clone() }
        });
        let doubtful = |kind: &VerdictKind| !matches!(kind, VerdictKind::Valid | VerdictKind::Failed);
        let other = VerdictKind::ALL.into_iter().rev().filter(doubtful).find_map(|kind| {
            let mut bearers = self.repetitions.iter().map(|r| &r.verdict).filter(|v| v.kind == kind);
            let first = bearers.next()?;
            let count = 1 + bearers.count();
            let reason = format!("{count} of {total} repetitions: {}", first.reason);
            (count * 3 >= total - failed).then(|| Verdict { kind, reason, figures: first.figures.clone() })
        });
        match (failure, other) {
            (Some(failure), _) if failed * 3 > total => failure,
            (Some(failure), Some(other)) => {
                Verdict { reason: format!("{}; {}", failure.reason, other.reason), ..other }
            }
            (Some(failure), None) => Verdict { kind: VerdictKind::Valid, ..failure },
            (None, other) => other.unwrap_or_else(|| self.note()),
        }
    }

    /// A valid verdict, with notes of repetitions.
    fn note(&self) -> Verdict {
        let mut noted = self
            .repetitions
            .iter()
            .map(|r| &r.verdict)
            .filter(|v| v.kind == VerdictKind::Valid && !v.reason.is_empty());
        let Some(first) = noted.next() else { return Verdict::default() };
        let count = 1 + noted.count();
        let reason = format!("{count} of {} repetitions: {}", self.repetitions.len(), first.reason);
        Verdict { reason, ..Verdict::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repetition(block: u32, kind: VerdictKind) -> Repetition {
        Repetition {
            id: i64::from(block),
            block,
            position: block,
            verdict: Verdict { kind, reason: format!("because of {block}"), figures: Vec::new() },
            ..Repetition::default()
        }
    }

    fn cell(kinds: &[VerdictKind]) -> CellRecord {
        CellRecord {
            id: 1,
            factors: Vec::new(),
            server_command: String::new(),
            load_command: String::new(),
            measure: Measure::Fresh,
            fresh_reason: String::new(),
            control_of: None,
            repetitions: (0..).zip(kinds).map(|(block, kind)| repetition(block, *kind)).collect(),
        }
    }

    #[test]
    fn a_cell_is_noisy_with_a_third_of_its_repetitions() {
        use VerdictKind::*;
        assert_eq!(cell(&[Valid, Noisy, Valid, ClientBound, Noisy, Valid]).verdict().kind, Noisy);
        assert_eq!(cell(&[Valid, Noisy, Valid, ClientBound, Valid, ClientBound]).verdict().kind, ClientBound);
        assert_eq!(cell(&[Valid, Noisy, Valid, Valid]).verdict().kind, Valid);
        assert_eq!(cell(&[Valid, RateMissed, RateMissed]).verdict().kind, RateMissed);
        assert_eq!(cell(&[ClientBound, RateMissed, ClientBound]).verdict().kind, RateMissed);
        let reason = cell(&[Valid, Failed, Failed]).verdict().reason;
        assert_eq!(reason, "2 of 3 repetitions failed: because of 1");
    }

    #[test]
    fn a_cell_keeps_its_good_repetitions_and_counts_the_failed_ones() {
        use VerdictKind::*;
        let one = cell(&[Valid, Valid, Failed, Valid, Valid, Valid]);
        assert_eq!(one.verdict().kind, Valid);
        assert_eq!(one.verdict().reason, "1 of 6 repetitions failed: because of 2");
        assert_eq!(one.failures_in_words().as_deref(), Some("1 of 6 failed"));
        let disturbed = cell(&[Valid, Noisy, Failed, Noisy, Valid, Valid]).verdict();
        assert_eq!(disturbed.kind, Noisy);
        assert_eq!(
            disturbed.reason,
            "1 of 6 repetitions failed: because of 2; 2 of 6 repetitions: because of 1"
        );
        assert_eq!(cell(&[Valid, Failed, Failed, Valid, Valid, Valid]).verdict().kind, Valid);
        assert_eq!(cell(&[Valid, Failed, Failed, Failed, Valid, Valid]).verdict().kind, Failed);
        assert_eq!(cell(&[Failed]).verdict().kind, Failed);
        assert_eq!(cell(&[Valid, Valid]).failures_in_words(), None);
    }
}
