//! What comes over a bus: entries of jobs, announcements and answers of agents, jobs, openings of streams and their pieces. What
//! is read can be written and is read again; without a trusted signature nothing is taken; a person is shown short sentences.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use pitot_bus::{SigningKey, TrustedKey, received};
use pitot_results::printable;

static KEY: LazyLock<(SigningKey, [TrustedKey; 1])> = LazyLock::new(|| {
    let dir = tempfile::tempdir().expect("a directory");
    let key = SigningKey::create(&dir.path().join("key")).expect("a key");
    let trusted = [TrustedKey::parse(&key.public()).expect("it is one")];
    (key, trusted)
});

const SUBJECT: &str = "pitot.job.r.j";

fuzz_target!(|data: &[u8]| {
    let Some((&which, data)) = data.split_first() else { return };
    let (key, trusted) = &*KEY;
    match which % 4 {
        0 => {
            if let Some((written, shown)) = received::entry(data) {
                assert_eq!(received::entry(&written), Some((written.clone(), shown.clone())));
                for sentence in shown {
                    assert_eq!(printable(&sentence), sentence);
                    assert!(sentence.len() < 20_000);
                }
            }
        }
        1 => {
            for read in [received::announcement, received::answer] {
                if let Some(written) = read(data) {
                    assert_eq!(read(&written).as_ref(), Some(&written));
                }
            }
        }
        2 => {
            assert!(received::job(data, trusted, SUBJECT, 1, key).is_err(), "nobody has signed it");
            assert!(received::opening(data, trusted, key).is_err(), "nobody has signed it");
            assert!(received::piece(data, trusted, "s").is_none(), "nobody has signed it");
            if let Ok(subject) = std::str::from_utf8(data) {
                let _ = received::job(b"", trusted, subject, 1, key);
            }
        }
        _ => {
            let [job, opening] = received::signed(data, key);
            if let Ok(written) = received::job(&job, trusted, SUBJECT, 1, key) {
                assert_eq!(received::job(&written, trusted, SUBJECT, 1, key).as_ref(), Ok(&written));
                assert!(received::job(&written, &[], SUBJECT, 1, key).is_err());
            }
            if let Ok(written) = received::opening(&opening, trusted, key) {
                assert_eq!(received::opening(&written, trusted, key).as_ref(), Ok(&written));
            }
            // A signature for one purpose is none for another.
            assert!(
                received::opening(&job, trusted, key).is_err()
                    && received::job(&opening, trusted, SUBJECT, 1, key).is_err()
            );
        }
    }
});
