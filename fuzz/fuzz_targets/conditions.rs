//! Entity tags and dates: nothing panics, and a precondition and its opposite do not both hold.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pitot_proto::http::conditional::{self, Conditions, Validators, Verdict};

fuzz_target!(|input: &[u8]| {
    let date = conditional::date(input);
    let current = Validators { etag: Some(b"\"a-1\""), modified_s: date.or(Some(784_111_777)) };
    let verdict = |conditions: Conditions| conditions.evaluate(current);
    let value = Some(input.to_vec());

    let matches = verdict(Conditions { if_match: value.clone(), ..Conditions::default() });
    let none_match = verdict(Conditions { if_none_match: value.clone(), ..Conditions::default() });
    assert!(matches == Verdict::Failed || none_match == Verdict::NotModified, "a strong match is a weak one");
    assert!(matches != Verdict::NotModified && none_match != Verdict::Failed);

    let unmodified = verdict(Conditions { if_unmodified_since: Some(date), ..Conditions::default() });
    let modified = verdict(Conditions { if_modified_since: Some(date), ..Conditions::default() });
    assert_eq!(unmodified, Verdict::Proceed);
    assert_eq!(modified == Verdict::NotModified, date.is_some());

    let ranged = Conditions { range: value.clone(), if_range: value, ..Conditions::default() };
    let applies = ranged.range(current, u64::MAX).is_some();
    assert_eq!(applies, date.is_some() || input == b"\"a-1\"");
});
