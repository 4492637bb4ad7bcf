use proptest::prelude::*;

use super::*;

fn header() -> Header {
    Header { mode: "send", from: "a@b".into(), message: (1, 2) }
}

fn open(path: &Path) -> Result<(Journal, Replay, Vec<String>), JournalError> {
    let mut names = Vec::new();
    let waker = Arc::new(Waker::new().unwrap());
    let (journal, replay) = Journal::open(path, &header(), waker, |name, _| names.push(name.to_owned()))?;
    Ok((journal, replay, names))
}

fn settled(text: &str) -> Settled<'_> {
    Settled { outcome: Outcome::Sent, code: 250, text: text.as_bytes() }
}

/// The bytes of a journal with that many outcomes, and the names in it.
fn written(count: usize) -> (Vec<u8>, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let (mut journal, ..) = open(&path).unwrap();
    let names: Vec<String> = (0..count).map(|n| format!("r{n}@x.test")).collect();
    for n in 0..count {
        journal.append(&format!("r{n}"), "x.test", settled("2.0.0 ok"));
        journal.hand_over().unwrap();
    }
    journal.finish().1.unwrap();
    (std::fs::read(&path).unwrap(), names)
}

fn reopened(bytes: &[u8]) -> Result<(Replay, Vec<String>, u64), JournalError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    std::fs::write(&path, bytes).unwrap();
    let (journal, replay, names) = open(&path)?;
    journal.finish().1.unwrap();
    Ok((replay, names, std::fs::metadata(&path).unwrap().len()))
}

#[test]
fn what_was_appended_is_read_when_it_is_opened_again() {
    let (bytes, names) = written(50);
    let (replay, read, len) = reopened(&bytes).unwrap();
    assert_eq!(replay, Replay { settled: 50, damaged: 0, torn: false });
    assert_eq!((read, len), (names, bytes.len() as u64));
}

#[test]
fn a_line_counts_as_durable_only_after_it_is_handed_over() {
    let directory = tempfile::tempdir().unwrap();
    let (mut journal, ..) = open(&directory.path().join("journal")).unwrap();
    journal.append("a", "b", settled(""));
    assert_eq!((journal.appended(), journal.durable()), (1, 0));
    journal.hand_over().unwrap();
    let mut backlog = lock(&journal.shared.backlog);
    while backlog.durable < 1 {
        backlog = wait(&journal.shared.progress, backlog);
    }
}

#[test]
fn damage_in_the_middle_is_counted_and_costs_no_other_line() {
    let (mut bytes, names) = written(10);
    let line = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').nth(3).unwrap().0;
    bytes[line + 12] ^= 1;
    let (replay, read, _) = reopened(&bytes).unwrap();
    assert_eq!(replay, Replay { settled: 9, damaged: 1, torn: false });
    assert_eq!(read, [&names[..3], &names[4..]].concat());
}

#[test]
fn the_journal_of_another_run_and_other_files_are_left_alone() {
    let (bytes, _) = written(1);
    let other = String::from_utf8(bytes).unwrap().replace("send", "test");
    for bytes in [other.as_bytes(), b"To: me\n", b"hello"] {
        assert!(matches!(reopened(bytes), Err(JournalError::Foreign(_))));
    }
}

#[test]
fn one_engine_at_a_time_has_a_journal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let first = open(&path).unwrap();
    assert!(matches!(open(&path), Err(JournalError::Locked(_))));
    drop(first);
    assert!(open(&path).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// However much of the last write reached the disk, what was whole counts and the next line starts afresh.
    #[test]
    fn a_torn_tail_is_ignored(count in 0usize..6, cut in any::<prop::sample::Index>(), zeros in 0usize..40) {
        let (bytes, names) = written(count);
        let cut = cut.index(bytes.len() + 1);
        let mut torn = bytes[..cut].to_vec();
        torn.resize(cut + zeros, 0);
        let whole = bytes[..cut].iter().filter(|b| **b == b'\n').count().saturating_sub(1);
        let (replay, read, len) = reopened(&torn).unwrap();
        prop_assert_eq!(read, &names[..whole]);
        prop_assert_eq!(replay.settled, whole as u64);
        prop_assert!(len <= bytes.len() as u64);
    }
}
