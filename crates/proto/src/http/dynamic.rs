//! `/dynamic`, a page that is built for each request. The lab's targets serve the same bytes, so that architectures can be
//! compared with products.

/// The page before the time and after it.
const AROUND: [&[u8]; 2] = [b"<!DOCTYPE html>\n<title>A page made for this request</title>\n<p>", b"</p>\n"];
const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
/// Bytes of the page.
const LEN: usize = AROUND[0].len() + "2026-01-02T03:04:05+00:00".len() + AROUND[1].len();

/// The path.
pub(super) const PATH: &[u8] = b"/dynamic";
/// Its media type.
pub(super) const TYPE: (&str, &[u8]) = ("Content-Type", b"text/html");

/// The page at the time of an IMF-fixdate (RFC 9110 section 5.6.7), with the time as in RFC 3339.
pub(super) fn page(date: &str) -> Vec<u8> {
    let mut page = Vec::with_capacity(LEN);
    page.extend_from_slice(AROUND[0]);
    // `Sun, 06 Nov 1994 08:49:37 GMT`
    let mut words = date.split(' ').skip(1);
    if let (Some(day), Some(month), Some(year), Some(time)) =
        (words.next(), words.next(), words.next(), words.next())
    {
        let number = MONTHS.find(month).map_or(0, |at| at as u8 / 3 + 1);
        let month = [b'0' + number / 10, b'0' + number % 10];
        let month = std::str::from_utf8(&month).unwrap_or_default();
        for piece in [year, "-", month, "-", day, "T", time, "+00:00"] {
            page.extend_from_slice(piece.as_bytes());
        }
    }
    page.extend_from_slice(AROUND[1]);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_time_of_the_request_and_always_the_same_length() {
        let of = |date: &str| String::from_utf8(page(date)).unwrap();
        let page = of("Sun, 06 Nov 1994 08:49:37 GMT");
        assert!(page.contains("<p>1994-11-06T08:49:37+00:00</p>\n"), "{page}");
        assert_eq!(page.len(), LEN);
        assert!(of("Fri, 31 Dec 2027 23:59:59 GMT").contains("2027-12-31T23:59:59"));
    }
}
