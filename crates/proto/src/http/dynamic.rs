//! The page that is made for each request, `/dynamic`: the same bytes as the targets of the lab serve by that path, so that
//! architectures can be set beside products.

/// What stands before the time and after it.
const AROUND: [&[u8]; 2] = [b"<!DOCTYPE html>\n<title>A page made for this request</title>\n<p>", b"</p>\n"];
const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
/// Bytes of the page.
const LEN: usize = AROUND[0].len() + "2026-01-02T03:04:05+00:00".len() + AROUND[1].len();

/// The path.
pub(super) const PATH: &[u8] = b"/dynamic";
/// Its media type.
pub(super) const TYPE: (&str, &[u8]) = ("Content-Type", b"text/html");

/// The page at the time of an IMF-fixdate (RFC 9110 section 5.6.7), which it has in the form of RFC 3339.
pub(super) fn page(date: &str) -> Vec<u8> {
    let mut page = Vec::with_capacity(LEN);
    page.extend_from_slice(AROUND[0]);
    // `Sun, 06 Nov 1994 08:49:37 GMT`
    if let [
        _,
        _,
        _,
        _,
        _,
        d1,
        d2,
        _,
        month @ ..,
        _,
        y1,
        y2,
        y3,
        y4,
        _,
        h1,
        h2,
        _,
        m1,
        m2,
        _,
        s1,
        s2,
        _,
        _,
        _,
        _,
    ] = date.as_bytes()
    {
        let number = MONTHS.chunks(3).position(|name| name == month).map_or(0, |index| index as u8 + 1);
        let month = [b'0' + number / 10, b'0' + number % 10];
        page.extend_from_slice(&[*y1, *y2, *y3, *y4, b'-', month[0], month[1], b'-', *d1, *d2, b'T']);
        page.extend_from_slice(&[*h1, *h2, b':', *m1, *m2, b':', *s1, *s2]);
        page.extend_from_slice(b"+00:00");
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
