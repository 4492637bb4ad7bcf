//! Access logs in the common and the combined format of Apache and nginx.
//!
//! A log of many lines has few different requests: each is kept once, and a line costs eight bytes, its time and the
//! number of its request. The referrer and the user agent of the combined format are not sent; they would make most
//! lines different.

use std::collections::HashMap;

use percent_encoding::percent_encode_byte;
use pitot_client::{RequestSpec, Url};
use pitot_meter::units::counted;

use super::format::Format;
use super::parsed::{Flaw, Parsed, Positions};
use super::target::{Place, place};

pub(super) const FORMAT: Format = Format {
    name: "log",
    summary: "an access log of nginx or Apache, common or combined",
    holds_commands: false,
    looks_like,
    parse,
};

/// Lines that are examined to recognise a log; its first ones may be something else.
const LOOKED_AT: usize = 20;
const CURE: &str =
    "a line is like this one: 127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 2326";

fn looks_like(beginning: &[u8]) -> bool {
    beginning.split(|&b| b == b'\n').take(LOOKED_AT).any(|line| fields(line).is_some())
}

/// What a line says.
#[derive(Debug, PartialEq)]
struct Line<'a> {
    /// Seconds since 1970.
    time: i64,
    method: &'a str,
    url: &'a str,
}

/// The time of a line and what stands behind it, from the request's opening quotation mark on.
fn fields(line: &[u8]) -> Option<(i64, &[u8])> {
    let mut from = 0;
    // A user's name may contain a bracket, too.
    loop {
        let open = from + line[from..].windows(2).position(|two| two == b" [")? + 2;
        if let Some((time, rest)) = line[open..].split_at_checked(26)
            && let Some(rest) = rest.strip_prefix(b"] \"")
            && let Some(time) = seconds(time)
        {
            return Some((time, rest));
        }
        from = open;
    }
}

/// Reads a line; none if it is of something else, or if its request is not one of HTTP.
fn line(line: &[u8]) -> Option<Line<'_>> {
    let (time, rest) = fields(line)?;
    let end = closing_quote(rest)?;
    let request = std::str::from_utf8(&rest[..end]).ok()?;
    let (method, rest) = request.split_once(' ')?;
    let (url, version) = rest.rsplit_once(' ').unwrap_or((rest, "HTTP/0.9"));
    let is_method =
        !method.is_empty() && method.bytes().all(|b| b.is_ascii_uppercase() || b"-_".contains(&b));
    (is_method && !url.is_empty() && version.starts_with("HTTP/")).then_some(Line { time, method, url })
}

/// The first quotation mark that has no backslash before it.
fn closing_quote(text: &[u8]) -> Option<usize> {
    let mut escaped = false;
    text.iter().position(|&b| {
        let ends = b == b'"' && !escaped;
        escaped = b == b'\\' && !escaped;
        ends
    })
}

/// `10/Oct/2000:13:55:36 -0700` in seconds since 1970.
fn seconds(text: &[u8]) -> Option<i64> {
    const MONTHS: &[u8] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let marks = [(2, b'/'), (6, b'/'), (11, b':'), (14, b':'), (17, b':'), (20, b' ')];
    if text.len() != 26 || marks.iter().any(|&(at, mark)| text[at] != mark) {
        return None;
    }
    let number = |from: usize, to: usize| {
        text[from..to]
            .iter()
            .try_fold(0i64, |sum, b| b.is_ascii_digit().then(|| sum * 10 + i64::from(b - b'0')))
    };
    let month = MONTHS.chunks(3).position(|name| name == &text[3..6])? as i64 + 1;
    let (day, year) = (number(0, 2)?, number(7, 11)?);
    let of_day = number(12, 14)? * 3600 + number(15, 17)? * 60 + number(18, 20)?;
    let zone = number(22, 24)? * 3600 + number(24, 26)? * 60;
    let zone = match text[21] {
        b'+' => zone,
        b'-' => -zone,
        _ => return None,
    };
    Some(days(year, month, day) * 86_400 + of_day - zone)
}

/// Days since 1970-01-01 in the Gregorian calendar, by counting years from March on, which end with the leap day.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
}

/// A URL as it was sent: what servers write as `\xHH`, `\"` and `\\` in percent encoding.
fn unescaped(url: &str) -> String {
    let mut out = String::with_capacity(url.len());
    let mut rest = url;
    while let Some((before, after)) = rest.split_once('\\') {
        out += before;
        let hex = after.strip_prefix('x').and_then(|hex| hex.get(..2));
        rest = match (hex, after.chars().next()) {
            (Some(hex), _) if hex.bytes().all(|b| b.is_ascii_hexdigit()) => {
                out += &format!("%{}", hex.to_ascii_uppercase());
                &after[3..]
            }
            (_, Some(mark @ ('"' | '\\'))) => {
                out += percent_encode_byte(mark as u8);
                &after[1..]
            }
            _ => {
                out += "%5C";
                after
            }
        };
    }
    out + rest
}

fn parse(content: &[u8], target: &Url) -> Result<Parsed, Flaw> {
    let mut numbers: HashMap<(&str, &str), u32> = HashMap::new();
    let mut requests: Vec<RequestSpec> = Vec::new();
    // The time of each line, in seconds since 1970, and the number of its request.
    let mut lines: Vec<(u32, u32)> = Vec::new();
    let mut positions = Positions::default();
    let (mut unread, mut elsewhere) = (0, 0);
    let all = (1..).zip(content.split(|&b| b == b'\n'));
    for (at, text) in all.filter(|(_, line)| !line.trim_ascii().is_empty()) {
        let known = line(text).and_then(|line| Some((u32::try_from(line.time).ok()?, line)));
        let Some((time, Line { method, url, .. })) = known else {
            unread += 1;
            continue;
        };
        if let Some(&number) = numbers.get(&(method, url)) {
            lines.push((time, number));
            continue;
        }
        match place(&unescaped(url), target) {
            Place::Target(path) if path.bytes().all(|b| b.is_ascii_graphic()) => {
                let number = u32::try_from(requests.len()).map_err(|_| {
                    Flaw::of_file("it has too many different requests: the limit is 2^32", "split it")
                })?;
                requests.push(RequestSpec { method: method.to_owned(), path, ..RequestSpec::default() });
                positions.numbers.push(at);
                numbers.insert((method, url), number);
                lines.push((time, number));
            }
            Place::Target(_) | Place::Nowhere(_) => unread += 1,
            Place::Elsewhere => elsewhere += 1,
        }
    }
    if lines.is_empty() {
        return Err(Flaw::of_file(
            format!(
                "none of its {} is a line of an access log",
                counted(unread + elsewhere, "line", "lines")
            ),
            CURE,
        ));
    }
    // Lines are written when requests end, and some servers write when they began.
    lines.sort_by_key(|&(time, _)| time);
    requests.iter_mut().for_each(|request| request.weight = 0.0);
    lines.iter().for_each(|&(_, number)| requests[number as usize].weight += 1.0);
    let notes = notes(&lines, &requests, unread, elsewhere);
    let first = lines[0].0;
    Ok(Parsed {
        order: lines.iter().map(|&(_, number)| number).collect(),
        seconds: lines.iter().map(|&(time, _)| time - first).collect(),
        requests,
        positions,
        notes,
        ..Parsed::default()
    })
}

fn notes(lines: &[(u32, u32)], requests: &[RequestSpec], unread: u64, elsewhere: u64) -> Vec<String> {
    let has_body = |number: u32| matches!(&*requests[number as usize].method, "POST" | "PUT" | "PATCH");
    let without_body = lines.iter().filter(|&&(_, number)| has_body(number)).count() as u64;
    let one_of = |count| counted(count, "line", "lines");
    let mut notes = Vec::new();
    if unread > 0 {
        notes.push(format!("{} could not be read", one_of(unread)));
    }
    if elsewhere > 0 {
        notes.push(format!("{} of other servers skipped", one_of(elsewhere)));
    }
    if without_body > 0 {
        notes.push(format!(
            "the bodies of {} are not in the log: they are sent without",
            counted(without_body, "request", "requests")
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Parsed, Flaw> {
        parse(text.as_bytes(), &Url::parse("http://h/").unwrap())
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        for (text, wanted) in [
            ("01/Jan/1970:00:00:00 +0000", 0),
            ("10/Oct/2000:13:55:36 -0700", 971_211_336),
            ("29/Feb/2024:23:59:59 +0530", 1_709_231_399),
            ("01/Mar/2100:00:00:00 +0000", 4_107_542_400),
        ] {
            assert_eq!(seconds(text.as_bytes()), Some(wanted), "{text}");
        }
        for bad in
            ["10/Xyz/2000:13:55:36 -0700", "10/Oct/2000 13:55:36 -0700", "1x/Oct/2000:13:55:36 -0700", ""]
        {
            assert_eq!(seconds(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn lines_of_both_formats_are_read_and_others_counted() {
        let log = parsed(concat!(
            "127.0.0.1 - frank [10/Oct/2000:13:55:38 -0700] \"GET /b HTTP/1.0\" 200 2326\n",
            "\n",
            "something else\n",
            "::1 - a [b] [10/Oct/2000:20:55:36 +0000] \"POST /a?b=\\\"c HTTP/1.1\" 200 5 \"http://r/\" \"agent [x]\"\r\n",
            "h:80 ::1 - - [10/Oct/2000:20:55:38 +0000] \"GET /b HTTP/1.1\" 404 5 \"-\" \"other\"\n",
            "::1 - - [10/Oct/2000:20:55:39 +0000] \"GET http://elsewhere/ HTTP/1.1\" 404 5\n",
            "::1 - - [10/Oct/2000:20:55:39 +0000] \"\\x16\\x03\" 400 5\n",
            "::1 - - [10/Oct/2000:20:55:39 +0000] \"-\" 408 0\n",
            "::1 - - [10/Oct/2000:20:56:00 +0000] \"GET http://h/\\xc3\\xa4 HTTP/1.1\" 200 5",
        ))
        .unwrap();
        let requests: Vec<(&str, &str, f64)> =
            log.requests.iter().map(|r| (&*r.method, &*r.path, r.weight)).collect();
        assert_eq!(requests, [("GET", "/b", 2.0), ("POST", "/a?b=%22c", 1.0), ("GET", "/%C3%A4", 1.0)]);
        assert_eq!((&*log.order, &*log.seconds), (&[1, 0, 0, 2][..], &[0, 2, 2, 24][..]));
        assert_eq!(
            log.notes,
            [
                "3 lines could not be read",
                "1 line of other servers skipped",
                "the bodies of 1 request are not in the log: they are sent without"
            ]
        );
    }

    #[test]
    fn a_file_without_such_a_line_is_refused() {
        assert!(parsed("a\nb\n").unwrap_err().what.contains("none of its 2 lines"));
        assert!(parsed("").is_err());
    }
}
