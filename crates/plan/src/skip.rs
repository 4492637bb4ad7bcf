//! Combinations of levels that are skipped, and why.

use super::levels::{FactorLevel, label};

/// A combination of levels that did not become a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct SkipRecord {
    /// The levels.
    pub factors: Vec<FactorLevel>,
    /// Why: a sentence.
    pub reason: String,
    /// What kind of reason it is.
    pub kind: SkipKind,
}

/// The kind of reason for a skip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipKind {
    /// The plan excludes it, or this machine or build lacks something. Run files store only the sentence.
    Other,
    /// Its server cannot serve the requested page.
    Page,
    /// A setting of the host cannot be set here.
    Setting,
}

impl SkipRecord {
    /// The levels joined.
    pub fn label(&self) -> String {
        label(&self.factors)
    }
}

/// The most labels that are listed.
const LISTED_MAX: usize = 3;

/// Each reason with the labels of its combinations, in the order of first mention.
pub fn skips_by_reason(skips: &[SkipRecord]) -> Vec<(&str, Vec<String>)> {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for skip in skips {
        let label = skip.label();
        match groups.iter_mut().find(|(reason, _)| *reason == skip.reason) {
            Some((_, labels)) => labels.push(label),
            None => groups.push((&skip.reason, vec![label])),
        }
    }
    groups
}

/// The labels, or the first of them and how many more: `pool+epoll-et; pool+uring; and 14 more`.
pub fn shortened(labels: &[String]) -> String {
    match labels.len() {
        0..=LISTED_MAX => labels.join("; "),
        n => format!("{}; and {} more", labels[..LISTED_MAX - 1].join("; "), n + 1 - LISTED_MAX),
    }
}

impl SkipKind {
    /// What to do if the cell has to be measured.
    pub fn fix(self) -> &'static str {
        match self {
            SkipKind::Page => {
                "request another page, or leave the server out; `pitot list targets --format json` lists what each cannot serve"
            }
            SkipKind::Setting => "run `pitot host check` to see what can be set here",
            SkipKind::Other => "install what is missing, or leave the server out",
        }
    }
}

/// Why there is no cell.
pub(super) struct NoCell {
    pub(super) kind: SkipKind,
    pub(super) reason: String,
}

impl NoCell {
    pub(super) fn of_page(reason: String) -> NoCell {
        NoCell { kind: SkipKind::Page, reason }
    }
}

impl<T: Into<String>> From<T> for NoCell {
    fn from(reason: T) -> NoCell {
        NoCell { kind: SkipKind::Other, reason: reason.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(skips: &[SkipRecord]) -> Vec<(&str, String)> {
        skips_by_reason(skips).into_iter().map(|(reason, labels)| (reason, shortened(&labels))).collect()
    }

    #[test]
    fn combinations_with_one_reason_are_one_line() {
        let skip = |server: &str, reason: &str| SkipRecord {
            factors: vec![FactorLevel::new("server", server), FactorLevel::new("load.connections", "10")],
            reason: reason.into(),
            kind: SkipKind::Other,
        };
        let skips =
            [skip("a", "why"), skip("b", "why"), skip("c", "why"), skip("d", "why"), skip("e", "else")];
        assert_eq!(shown(&skips), [("why", "a, 10; b, 10; and 2 more".into()), ("else", "e, 10".into())]);
    }

    #[test]
    fn what_is_skipped_for_one_reason_is_listed_once() {
        let skip = |level: u32, reason: &str| SkipRecord {
            factors: vec![FactorLevel::new("replicate", &level.to_string())],
            reason: reason.into(),
            kind: SkipKind::Other,
        };
        let mut skips: Vec<SkipRecord> = (1..=5).map(|level| skip(level, "enough")).collect();
        skips.push(skip(9, "impossible"));
        let groups = shown(&skips);
        assert_eq!(groups, [("enough", "1; 2; and 3 more".to_owned()), ("impossible", "9".to_owned())]);
    }
}
