//! Which host rules matter for a case.

use super::case::Case;

/// From so many connections on, limits of the machine matter.
const MANY: u64 = 1000;

/// A topic of `pitot host check` and when it matters.
type Topic = (&'static str, fn(&Case) -> bool);

/// Topics whose rules may change the answer. Others affect all contenders alike.
const TOPICS: &[Topic] = &[
    ("descriptors and limits", |case| case.connections >= MANY),
    ("backlogs", |case| case.is_short_lived() || case.connections >= MANY),
    ("ports and TIME-WAIT", |case| case.is_short_lived() || case.connections >= MANY),
    ("buffers", |case| case.size_bytes >= 64 << 10 || case.connections >= MANY),
    ("CPU", |case| case.work > pitot_meter::Nanos::ZERO),
    ("memory", |case| case.files.is_some() || case.connections >= MANY),
    ("disks", |case| case.files.is_some()),
    ("firewall", |case| case.is_short_lived() || case.connections >= MANY),
    ("control groups", |_| true),
];

/// The topics that matter for a case.
pub fn topics(case: &Case) -> Vec<&'static str> {
    TOPICS.iter().filter(|(_, matters)| matters(case)).map(|(topic, _)| *topic).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::FileSet;
    use crate::advise::case::tests::plain;

    #[test]
    fn every_topic_is_one_of_the_check() {
        for (topic, _) in TOPICS {
            assert!(pitot_host::check::TOPICS.iter().any(|(name, _)| name == topic), "{topic}");
        }
    }

    #[test]
    fn topics_follow_from_the_load() {
        assert_eq!(topics(&plain(50, 50)), ["control groups"]);
        assert!(topics(&plain(10_000, 500)).contains(&"descriptors and limits"));
        let files = Case { files: Some(FileSet { bytes: 1, is_cold: true }), ..plain(50, 50) };
        assert!(topics(&files).contains(&"disks"));
    }
}
