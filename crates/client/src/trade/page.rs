//! Reads a page of Trade: elements with `data-trade="NAME" data-value="VALUE"`.

/// The values of that name, in page order.
pub(super) fn values<'a>(page: &'a [u8], name: &str) -> impl Iterator<Item = &'a [u8]> {
    let mark = format!("data-trade=\"{name}\" data-value=\"").into_bytes();
    let mut rest = page;
    std::iter::from_fn(move || {
        let at = memchr::memmem::find(rest, &mark)? + mark.len();
        let value = &rest[at..];
        let end = memchr::memchr(b'"', value)?;
        rest = &value[end..];
        Some(&value[..end])
    })
}

/// The first value of that name, as a number.
pub(super) fn number(page: &[u8], name: &str) -> Option<i64> {
    std::str::from_utf8(values(page, name).next()?).ok()?.parse().ok()
}

/// Whether the page is of that kind.
pub(super) fn is(page: &[u8], kind: &str) -> bool {
    has(page, &format!("data-page=\"{kind}\""))
}

/// Whether the page contains a text.
pub(super) fn has(page: &[u8], text: &str) -> bool {
    memchr::memmem::find(page, text.as_bytes()).is_some()
}
