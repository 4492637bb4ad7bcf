//! The header fields of a head as text.

/// Name and value of each field in these lines, up to the empty line that ends a head. Values are trimmed.
pub(crate) fn fields(lines: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let lines = lines.split(|&b| b == b'\n').map(<[u8]>::trim_ascii).take_while(|line| !line.is_empty());
    lines.filter_map(|line| {
        let colon = memchr::memchr(b':', line)?;
        Some((&line[..colon], line[colon + 1..].trim_ascii()))
    })
}

/// As [`fields`], of a head whose first line is skipped.
pub(crate) fn fields_of(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    fields(&head[memchr::memchr(b'\n', head).map_or(head.len(), |at| at + 1)..])
}

/// The value of the first field of that name in a head, in any case.
pub(crate) fn field<'a>(head: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    fields_of(head).find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}
