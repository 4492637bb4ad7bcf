//! Attributes of netlink: a length, a kind, and a content, which may be attributes again (libnl's manual; linux/netlink.h).

/// `NLA_F_NESTED`: the content is attributes.
const NESTED: u16 = 0x8000;
/// `NLA_TYPE_MASK`: the kind without such flags.
const KIND: u16 = 0x3fff;
/// Length and kind.
const HEADER_BYTES: usize = 4;
/// Attributes begin at multiples of this (`NLA_ALIGNTO`).
const ALIGNMENT: usize = 4;

/// An attribute with its padding.
pub(super) fn attribute(kind: u16, content: &[u8]) -> Vec<u8> {
    let length = HEADER_BYTES + content.len();
    let mut bytes = Vec::with_capacity(length.next_multiple_of(ALIGNMENT));
    bytes.extend((length as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(content);
    bytes.resize(length.next_multiple_of(ALIGNMENT), 0);
    bytes
}

/// An attribute that holds others.
pub(super) fn nest(kind: u16, attributes: &[u8]) -> Vec<u8> {
    attribute(kind | NESTED, attributes)
}

/// A text, which ends with a NUL.
pub(super) fn text(kind: u16, text: &str) -> Vec<u8> {
    attribute(kind, &[text.as_bytes(), &[0]].concat())
}

/// Kinds and contents, as far as they are whole.
pub(super) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let &[a, b, c, d] = bytes.first_chunk::<HEADER_BYTES>()?;
        let length = usize::from(u16::from_ne_bytes([a, b]));
        let content = bytes.get(HEADER_BYTES..length)?;
        bytes = bytes.get(length.next_multiple_of(ALIGNMENT)..).unwrap_or_default();
        Some((u16::from_ne_bytes([c, d]) & KIND, content))
    })
}

/// The content of the first of a kind.
pub(super) fn find(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(other, _)| *other == kind).map(|(_, content)| content)
}

/// A number of one, two or four bytes.
pub(super) fn number(content: &[u8]) -> Option<u32> {
    match *content {
        [byte] => Some(byte.into()),
        [a, b] => Some(u16::from_ne_bytes([a, b]).into()),
        [a, b, c, d] => Some(u32::from_ne_bytes([a, b, c, d])),
        _ => None,
    }
}

/// A text without the NUL at its end.
pub(super) fn word(content: &[u8]) -> String {
    let bytes: Vec<u8> = content.iter().copied().take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_comes_out_again() {
        let inner = [text(2, "rx-gro"), attribute(3, &[])].concat();
        let bytes = [attribute(1, &7u32.to_ne_bytes()), attribute(9, &[5]), nest(4, &inner)].concat();
        assert_eq!(bytes.len() % ALIGNMENT, 0);
        assert_eq!(attributes(&bytes).map(|(kind, _)| kind).collect::<Vec<_>>(), [1, 9, 4]);
        assert_eq!([find(&bytes, 1).and_then(number), find(&bytes, 9).and_then(number)], [Some(7), Some(5)]);
        let nested = find(&bytes, 4).unwrap();
        assert_eq!((find(nested, 2).map(word).as_deref(), find(nested, 3)), (Some("rx-gro"), Some(&[][..])));
        assert_eq!(find(&bytes, 8), None);
    }

    #[test]
    fn what_is_cut_or_lies_about_its_length_ends_the_list() {
        let bytes = [attribute(1, &[1, 2, 3, 4]), attribute(2, &[1, 2, 3, 4])].concat();
        for end in 0..bytes.len() {
            assert!(attributes(&bytes[..end]).count() < 2);
        }
        assert_eq!(attributes(&[0, 0, 1, 0]).count(), 0, "a length of less than the header");
        assert_eq!(attributes(&[255, 255, 1, 0]).count(), 0);
        assert_eq!(number(&[1, 2, 3]), None);
    }
}
