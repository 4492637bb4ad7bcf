//! The shape of a block of headers (RFC 7541 section 6): where its fields end, and whether it touches the table.

use crate::client::exchange::Fault;

/// Bytes of an integer behind its prefix: 28 bits and more than any length or index here.
const INTEGER_MAX: usize = 4;

/// Whether a block changes the table of its connection: adds a field to it or sets its size.
///
/// # Errors
/// A field that is cut off, or an integer that is too long.
pub(super) fn changes_table(block: &[u8]) -> Result<bool, Fault> {
    let (mut rest, mut changes) = (block, false);
    while let Some(&first) = rest.first() {
        if first & 0x80 != 0 {
            // A field of the table.
            integer(&mut rest, 7)?;
        } else if first & 0x40 != 0 {
            // A field that goes into the table.
            changes = true;
            field(&mut rest, 6)?;
        } else if first & 0x20 != 0 {
            // The size of the table.
            changes = true;
            integer(&mut rest, 5)?;
        } else {
            // A field that does not go into the table.
            field(&mut rest, 4)?;
        }
    }
    Ok(changes)
}

/// A field with a name of the table or of its own, and a value.
fn field(rest: &mut &[u8], prefix: u32) -> Result<(), Fault> {
    if integer(rest, prefix)? == 0 {
        string(rest)?;
    }
    string(rest)
}

fn string(rest: &mut &[u8]) -> Result<(), Fault> {
    let length = integer(rest, 7)?;
    *rest = rest.get(length..).ok_or(Fault::Malformed)?;
    Ok(())
}

/// An integer whose first bits are the last ones, so many, of a byte (RFC 7541 section 5.1).
fn integer(rest: &mut &[u8], prefix: u32) -> Result<usize, Fault> {
    let (&first, tail) = rest.split_first().ok_or(Fault::Malformed)?;
    let mask = (1 << prefix) - 1;
    let mut value = usize::from(first) & mask;
    if value < mask {
        *rest = tail;
        return Ok(value);
    }
    for (n, &byte) in tail.iter().take(INTEGER_MAX).enumerate() {
        value += usize::from(byte & 0x7f) << (7 * n);
        if byte & 0x80 == 0 {
            *rest = &tail[n + 1..];
            return Ok(value);
        }
    }
    Err(Fault::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_additions_and_sizes_change_the_table() {
        for (block, changes) in [
            (&b""[..], false),
            (&[0x88], false),
            (b"\x88\x0f\x0d\x0212", false),
            (b"\x00\x01a\x01b\x10\x01a\x01b", false),
            (b"\x88\x40\x01a\x01b", true),
            (b"\x5c\x0212", true),
            (&[0x3f, 0xe1, 0x1f, 0x88], true),
        ] {
            assert_eq!(changes_table(block), Ok(changes), "{block:?}");
        }
    }

    #[test]
    fn a_field_that_is_cut_off_is_refused() {
        let whole = b"\x0f\x0d\x7f\x80\x01".iter().copied().chain([b'x'; 255]).collect::<Vec<u8>>();
        assert_eq!(changes_table(&whole), Ok(false));
        for end in 1..whole.len() {
            assert_eq!(changes_table(&whole[..end]), Err(Fault::Malformed), "{end}");
        }
        assert_eq!(changes_table(&[0xff, 0xff, 0xff, 0xff, 0xff, 0x00]), Err(Fault::Malformed));
    }
}
