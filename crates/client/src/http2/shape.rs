//! The shape of a header block (RFC 7541 section 6): where its fields end, and whether it uses the table.

use crate::exchange::Fault;

/// Bytes of an integer behind its prefix: 28 bits are more than any length or index here.
const INTEGER_MAX: usize = 4;

/// Fields of the static table (RFC 7541 appendix A).
const STATIC: usize = 61;

/// How a block uses the table of its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// It adds fields.
    pub(super) adds: bool,
    /// It changes the size of the table.
    pub(super) resizes: bool,
    /// It uses fields that were added.
    pub(super) refers: bool,
}

/// Reads the shape of a block.
///
/// # Errors
/// A field that is cut off, or an integer that is too long.
pub(super) fn of(block: &[u8]) -> Result<Shape, Fault> {
    let (mut rest, mut shape) = (block, Shape::default());
    while let Some(&first) = rest.first() {
        let index = if first & 0x80 != 0 {
            // A field of the table.
            integer(&mut rest, 7)?
        } else if first & 0x40 != 0 {
            // A field that goes into the table.
            shape.adds = true;
            field(&mut rest, 6)?
        } else if first & 0x20 != 0 {
            // The size of the table.
            shape.resizes = true;
            integer(&mut rest, 5)?;
            0
        } else {
            // A field that does not go into the table.
            field(&mut rest, 4)?
        };
        shape.refers |= index > STATIC;
    }
    Ok(shape)
}

/// A field with an indexed or literal name and a value. Returns the index of the name, 0 for a literal.
fn field(rest: &mut &[u8], prefix: u32) -> Result<usize, Fault> {
    let index = integer(rest, prefix)?;
    if index == 0 {
        string(rest)?;
    }
    string(rest)?;
    Ok(index)
}

fn string(rest: &mut &[u8]) -> Result<(), Fault> {
    let length = integer(rest, 7)?;
    *rest = rest.get(length..).ok_or(Fault::Malformed)?;
    Ok(())
}

/// An integer with a prefix of so many bits (RFC 7541 section 5.1).
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
    fn what_a_block_does_with_the_table() {
        let none = Shape::default();
        let (adds, resizes) = (Shape { adds: true, ..none }, Shape { resizes: true, ..none });
        let refers = Shape { refers: true, ..none };
        for (block, shape) in [
            (&b""[..], none),
            (&[0x88], none),
            (b"\x88\x0f\x0d\x0212", none),
            (b"\x00\x01a\x01b\x10\x01a\x01b", none),
            (b"\x88\x40\x01a\x01b", adds),
            (b"\x5c\x0212", adds),
            (&[0x3f, 0xe1, 0x1f, 0x88], resizes),
            (&[0xbd], none),
            (&[0xbe], refers),
            (b"\x0f\x2f\x01a", refers),
        ] {
            assert_eq!(of(block), Ok(shape), "{block:?}");
        }
    }

    #[test]
    fn a_field_that_is_cut_off_is_refused() {
        let whole = b"\x0f\x0d\x7f\x80\x01".iter().copied().chain([b'x'; 255]).collect::<Vec<u8>>();
        assert_eq!(of(&whole), Ok(Shape::default()));
        for end in 1..whole.len() {
            assert_eq!(of(&whole[..end]), Err(Fault::Malformed), "{end}");
        }
        assert_eq!(of(&[0xff, 0xff, 0xff, 0xff, 0xff, 0x00]), Err(Fault::Malformed));
    }
}
