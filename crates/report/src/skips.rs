//! Combinations that were not measured, those with the same reason together.

use pitot_lab::SkipRecord;

/// More combinations than this are counted.
const LISTED_MAX: usize = 3;

/// Each reason with its combinations, in the order of first mention: `pool+epoll-et; pool+uring; and 14 more`.
pub(crate) fn by_reason(skips: &[SkipRecord]) -> Vec<(&str, String)> {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for skip in skips {
        let levels: Vec<&str> = skip.factors.iter().map(|f| f.level.as_str()).collect();
        let label = levels.join(", ");
        match groups.iter_mut().find(|(reason, _)| *reason == skip.reason) {
            Some((_, labels)) => labels.push(label),
            None => groups.push((&skip.reason, vec![label])),
        }
    }
    let shown = |labels: Vec<String>| match labels.len() {
        0..=LISTED_MAX => labels.join("; "),
        n => format!("{}; and {} more", labels[..LISTED_MAX - 1].join("; "), n + 1 - LISTED_MAX),
    };
    groups.into_iter().map(|(reason, labels)| (reason, shown(labels))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitot_lab::FactorLevel;

    #[test]
    fn combinations_with_one_reason_are_one_line() {
        let skip = |server: &str, reason: &str| SkipRecord {
            factors: vec![FactorLevel::new("server", server), FactorLevel::new("load.connections", "10")],
            reason: reason.into(),
            kind: pitot_lab::SkipKind::Other,
        };
        let skips =
            [skip("a", "why"), skip("b", "why"), skip("c", "why"), skip("d", "why"), skip("e", "else")];
        assert_eq!(by_reason(&skips), [("why", "a, 10; b, 10; and 2 more".into()), ("else", "e, 10".into())]);
    }
}
