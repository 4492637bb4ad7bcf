//! Command lines as words separated by blanks.

/// The words of a line. Only the blank (0x20) separates them, as in memcached.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.0.iter().position(|&b| b != b' ')?;
        let rest = &self.0[start..];
        let end = rest.iter().position(|&b| b == b' ').unwrap_or(rest.len());
        self.0 = &rest[end..];
        Some(&rest[..end])
    }
}

/// The command line in the first `end` bytes, without its line end.
pub(super) fn without_line_end(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_divide_and_nothing_else_does() {
        let words: Vec<&[u8]> = Words(b"  get a\tb  c ").collect();
        assert_eq!(words, [b"get".as_slice(), b"a\tb", b"c"]);
        assert_eq!(Words(b"   ").count(), 0);
    }
}
