//! Preconditions (RFC 9110 section 13) and validators.

use std::time::UNIX_EPOCH;

use super::syntax::trim;

/// The fields of a request that make its reply depend on the state of the representation. Kept on the heap, since few
/// requests have one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// `If-Match`, all lines joined.
    pub if_match: Option<Vec<u8>>,
    /// `If-None-Match`, all lines joined.
    pub if_none_match: Option<Vec<u8>>,
    /// `If-Modified-Since`; `Some(None)` is ignored: not a date, or repeated.
    pub if_modified_since: Option<Option<u64>>,
    /// `If-Unmodified-Since`, likewise.
    pub if_unmodified_since: Option<Option<u64>>,
    /// `If-Range`; empty, which matches nothing, if it is repeated.
    pub if_range: Option<Vec<u8>>,
    /// `Range`; empty, which requests nothing, if it is repeated.
    pub range: Option<Vec<u8>>,
}

/// The validators of a representation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validators<'a> {
    /// Its strong entity tag with the quotes, if it has one.
    pub etag: Option<&'a [u8]>,
    /// When it was last modified, in seconds since 1970-01-01 UTC, if that is known.
    pub modified_s: Option<u64>,
}

/// The result of the preconditions of a GET or HEAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They are true: answer as if there were none.
    Proceed,
    /// The client has the current state already (304).
    NotModified,
    /// The client requires another state (412).
    Failed,
}

impl Conditions {
    /// Adds a line of a list field.
    pub(super) fn add_line(list: &mut Option<Vec<u8>>, value: &[u8]) {
        match list {
            None => *list = Some(value.to_vec()),
            Some(list) => {
                list.extend_from_slice(b", ");
                list.extend_from_slice(value);
            }
        }
    }

    /// Sets a field that may occur only once; a second one invalidates it.
    pub(super) fn set_once(field: &mut Option<Vec<u8>>, value: &[u8]) {
        *field = Some(if field.is_none() { value.to_vec() } else { Vec::new() });
    }

    /// Sets a date that may occur only once; a second one invalidates it.
    pub(super) fn set_date(field: &mut Option<Option<u64>>, value: &[u8]) {
        *field = Some(if field.is_none() { date(value) } else { None });
    }

    /// Evaluates the preconditions of a GET or HEAD in the order of RFC 9110 section 13.2.2.
    pub fn evaluate(&self, current: Validators<'_>) -> Verdict {
        match (&self.if_match, self.if_unmodified_since, current.modified_s) {
            (Some(list), ..) if !any_matches(list, current.etag, Comparison::Strong) => {
                return Verdict::Failed;
            }
            (None, Some(Some(since)), Some(modified)) if modified > since => return Verdict::Failed,
            _ => {}
        }
        match (&self.if_none_match, self.if_modified_since, current.modified_s) {
            (Some(list), ..) if any_matches(list, current.etag, Comparison::Weak) => Verdict::NotModified,
            (None, Some(Some(since)), Some(modified)) if modified <= since => Verdict::NotModified,
            _ => Verdict::Proceed,
        }
    }

    /// The `Range` value, if there is one and `If-Range` permits it. `now_s` is the time of the reply.
    pub fn range(&self, current: Validators<'_>, now_s: u64) -> Option<&[u8]> {
        let range = self.range.as_deref()?;
        let applies = match &self.if_range {
            None => true,
            Some(value) if value.starts_with(b"\"") => current.etag == Some(value),
            // A date matches only if it is exact and strong: the file may still change within its second (RFC 9110
            // section 8.8.2.2). A weak tag is not a date and never matches.
            Some(value) => date(value)
                .is_some_and(|date| current.modified_s == Some(date) && now_s.saturating_sub(date) >= 1),
        };
        applies.then_some(range)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Strong,
    Weak,
}

/// True if a list of entity tags, or `*`, matches the strong tag `current`. The malformed rest of a list matches
/// nothing.
fn any_matches(list: &[u8], current: Option<&[u8]>, comparison: Comparison) -> bool {
    if trim(list) == b"*" {
        return true;
    }
    let Some(current) = current else { return false };
    let mut rest = list;
    loop {
        while let [b' ' | b'\t' | b',', tail @ ..] = rest {
            rest = tail;
        }
        let (weak, tag) = rest.strip_prefix(b"W/").map_or((false, rest), |tag| (true, tag));
        let Some(len) = tag_len(tag) else { return false };
        if tag[..len] == *current && (!weak || comparison == Comparison::Weak) {
            return true;
        }
        rest = &tag[len..];
    }
}

/// The length of the opaque tag, with its quotes, at the start of `text`.
fn tag_len(text: &[u8]) -> Option<usize> {
    let inner = text.strip_prefix(b"\"")?;
    let end = inner.iter().position(|&b| !matches!(b, 0x21 | 0x23..=0x7e | 0x80..))?;
    (inner[end] == b'"').then_some(end + 2)
}

/// An HTTP-date in any of its three forms (RFC 9110 section 5.6.7), in seconds since 1970-01-01 UTC.
pub fn date(value: &[u8]) -> Option<u64> {
    let time = httpdate::parse_http_date(std::str::from_utf8(value).ok()?).ok()?;
    time.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: &[u8] = b"\"xyzzy\"";
    const NOW: Validators<'_> = Validators { etag: Some(TAG), modified_s: Some(784_111_777) };

    #[test]
    fn dates_in_all_three_forms() {
        for text in
            ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
        {
            assert_eq!(date(text.as_bytes()), Some(784_111_777), "{text}");
        }
        for text in
            ["", "yesterday", "Sun, 06 Nov 1994 08:49:37", "Sun, 99 Nov 1994 08:49:37 GMT", "784111777"]
        {
            assert_eq!(date(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn the_comparisons_of_rfc_9110_section_8_8_3_2() {
        for (sent, strong, weak) in [
            ("\"xyzzy\"", true, true),
            ("W/\"xyzzy\"", false, true),
            ("\"other\"", false, false),
            ("*", true, true),
            ("\"a\", \"xyzzy\"", true, true),
            ("\"a\" ,, W/\"b\",\t\"xyzzy\" ", true, true),
            ("\"a,b\", \"xyzzy\"", true, true),
            ("xyzzy", false, false),
            ("\"xyzzy", false, false),
            ("\"a b\", \"xyzzy\"", false, false),
            ("w/\"xyzzy\"", false, false),
            ("", false, false),
            ("*, \"xyzzy\"", false, false),
        ] {
            assert_eq!(any_matches(sent.as_bytes(), Some(TAG), Comparison::Strong), strong, "strong {sent}");
            assert_eq!(any_matches(sent.as_bytes(), Some(TAG), Comparison::Weak), weak, "weak {sent}");
        }
        assert!(any_matches(b"*", None, Comparison::Strong));
        assert!(!any_matches(TAG, None, Comparison::Weak));
    }

    /// Every combination of the four preconditions, against the order of section 13.2.2 written out naively.
    #[test]
    fn the_order_of_evaluation() {
        let tags = [None, Some(TAG.to_vec()), Some(b"\"other\"".to_vec())];
        let dates = [None, Some(None), Some(Some(784_111_776)), Some(Some(784_111_777))];
        for if_match in &tags {
            for if_none_match in &tags {
                for if_unmodified_since in dates {
                    for if_modified_since in dates {
                        let conditions = Conditions {
                            if_match: if_match.clone(),
                            if_none_match: if_none_match.clone(),
                            if_unmodified_since,
                            if_modified_since,
                            ..Conditions::default()
                        };
                        let holds = |list: &Vec<u8>| list == TAG;
                        let first = match (if_match, if_unmodified_since) {
                            (Some(list), _) => holds(list),
                            (None, Some(Some(date))) => date >= 784_111_777,
                            _ => true,
                        };
                        let second = match (if_none_match, if_modified_since) {
                            (Some(list), _) => !holds(list),
                            (None, Some(Some(date))) => date < 784_111_777,
                            _ => true,
                        };
                        let expected = match (first, second) {
                            (false, _) => Verdict::Failed,
                            (true, false) => Verdict::NotModified,
                            (true, true) => Verdict::Proceed,
                        };
                        assert_eq!(conditions.evaluate(NOW), expected, "{conditions:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn if_range_wants_an_exact_and_strong_validator() {
        let range = |if_range: Option<&str>, now_s| {
            let conditions = Conditions {
                range: Some(b"bytes=0-1".to_vec()),
                if_range: if_range.map(|v| v.as_bytes().to_vec()),
                ..Conditions::default()
            };
            conditions.range(NOW, now_s).is_some()
        };
        let date = Some("Sun, 06 Nov 1994 08:49:37 GMT");
        assert!(range(None, 0));
        assert!(range(Some("\"xyzzy\""), 0));
        assert!(!range(Some("W/\"xyzzy\""), 0));
        assert!(!range(Some("\"other\""), 0));
        assert!(range(date, 784_111_778));
        assert!(!range(date, 784_111_777), "the second is not over");
        assert!(!range(Some("Sun, 06 Nov 1994 08:49:38 GMT"), 784_111_999), "later is not exact");
        assert!(!range(Some(""), 784_111_999));
    }

    #[test]
    fn a_repeated_field_joins_a_list_or_spoils_a_single() {
        let mut list = None;
        Conditions::add_line(&mut list, b"\"a\"");
        Conditions::add_line(&mut list, b"\"b\"");
        assert_eq!(list.as_deref(), Some(&b"\"a\", \"b\""[..]));
        let mut single = None;
        Conditions::set_once(&mut single, b"x");
        assert_eq!(single.as_deref(), Some(&b"x"[..]));
        Conditions::set_once(&mut single, b"x");
        assert_eq!(single.as_deref(), Some(&b""[..]));
        let mut when = None;
        Conditions::set_date(&mut when, b"Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(when, Some(Some(784_111_777)));
        Conditions::set_date(&mut when, b"Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(when, Some(None));
    }
}
