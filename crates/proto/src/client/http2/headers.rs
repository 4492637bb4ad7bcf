//! What matters of the headers of replies.

use httlib_hpack::Decoder;

use super::shape;
use crate::client::exchange::Fault;

/// The size of the table that the server may use: the protocol's own, which is what is agreed on without a word.
const TABLE_BYTES: u32 = 4096;
/// The longest list of headers, counted as RFC 9113 section 6.5.2 does.
const LIST_MAX: usize = 256 * 1024;
/// Fields that are decoded at once.
const BATCH: usize = 32;
/// Blocks that are remembered, and the longest one that is.
const KNOWN_MAX: usize = 8;
const KNOWN_BYTES_MAX: usize = 512;

/// What matters of one block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// None in trailers.
    pub(super) status: Option<u16>,
    /// The length that the body is said to have.
    pub(super) length: Option<u64>,
}

/// Reads the blocks of one connection.
///
/// Servers send the same bytes again and again: nginx until the second of its `date` changes, servers that use the table
/// once their fields are in it. A block that was decoded before means the same as then, as long as neither it nor one in
/// between has changed the table, and is not decoded again.
#[derive(Default)]
pub(super) struct HeaderReader {
    /// There is none before the first block, for many connections may be open that have had no reply.
    decoder: Option<Box<Decoder<'static>>>,
    known: Vec<(Box<[u8]>, Facts)>,
    /// Which of them is forgotten next.
    oldest: usize,
}

impl HeaderReader {
    /// A new connection has an empty table.
    pub(super) fn reset(&mut self) {
        self.decoder = None;
        self.forget();
    }

    fn forget(&mut self) {
        self.known.clear();
        self.oldest = 0;
    }

    /// Reads a whole block.
    pub(super) fn read(&mut self, block: &[u8]) -> Result<Facts, Fault> {
        match self.known.iter().find(|(known, _)| **known == *block) {
            Some((_, facts)) => Ok(*facts),
            None => self.decode(block),
        }
    }

    #[cold]
    fn decode(&mut self, block: &[u8]) -> Result<Facts, Fault> {
        let changes_table = shape::changes_table(block)?;
        let decoder = self.decoder.get_or_insert_with(|| Box::new(Decoder::with_dynamic_size(TABLE_BYTES)));
        let mut rest = block.to_vec();
        let mut fields = Vec::with_capacity(BATCH);
        let (mut facts, mut size) = (Facts::default(), 0);
        while !rest.is_empty() {
            fields.clear();
            decoder.decode_exact(&mut rest, &mut fields).map_err(|_| Fault::Malformed)?;
            for (name, value, _) in &fields {
                size += name.len() + value.len() + 32;
                facts.take(name, value)?;
            }
            if size > LIST_MAX {
                return Err(Fault::TooLarge);
            }
        }
        if changes_table {
            self.forget();
        } else if block.len() <= KNOWN_BYTES_MAX {
            let entry = (block.into(), facts);
            if self.known.len() < KNOWN_MAX {
                self.known.push(entry);
            } else {
                self.known[self.oldest] = entry;
                self.oldest = (self.oldest + 1) % KNOWN_MAX;
            }
        }
        Ok(facts)
    }
}

impl Facts {
    fn take(&mut self, name: &[u8], value: &[u8]) -> Result<(), Fault> {
        match name {
            b":status" => {
                let &[a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] = value else {
                    return Err(Fault::Malformed);
                };
                let digit = |b: u8| u16::from(b - b'0');
                if self.status.replace(digit(a) * 100 + digit(b) * 10 + digit(c)).is_some() {
                    return Err(Fault::Malformed);
                }
            }
            b"content-length" => {
                let length = number(value).ok_or(Fault::Malformed)?;
                if self.length.replace(length).is_some_and(|other| other != length) {
                    return Err(Fault::Malformed);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    digits.iter().try_fold(0u64, |sum, &b| b.is_ascii_digit().then(|| sum * 10 + u64::from(b - b'0')))
}

#[cfg(test)]
mod tests {
    use httlib_hpack::Encoder;
    use proptest::prelude::*;

    use super::*;

    const FLAGS: u8 = Encoder::HUFFMAN_NAME | Encoder::HUFFMAN_VALUE | Encoder::BEST_FORMAT;

    fn block(encoder: &mut Encoder<'_>, fields: &[(&str, &str)], flags: u8) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, value) in fields {
            encoder.encode((name.as_bytes().to_vec(), value.as_bytes().to_vec(), flags), &mut out).unwrap();
        }
        out
    }

    #[test]
    fn a_block_that_was_read_before_means_the_same_until_the_table_changes() {
        let (mut reader, mut encoder) = (HeaderReader::default(), Encoder::default());
        let plain = block(&mut encoder, &[(":status", "200"), ("content-length", "5")], FLAGS);
        let wanted = Facts { status: Some(200), length: Some(5) };
        for _ in 0..3 {
            assert_eq!(reader.read(&plain), Ok(wanted));
            assert_eq!(reader.known.len(), 1);
        }
        // The field that is added last is number 62.
        let add = |encoder: &mut Encoder<'_>, length: &str| {
            block(encoder, &[("content-length", length)], FLAGS | Encoder::WITH_INDEXING)
        };
        reader.read(&add(&mut encoder, "7")).unwrap();
        assert!(reader.known.is_empty());
        assert_eq!(reader.read(&[0x88, 0xbe]), Ok(Facts { status: Some(200), length: Some(7) }));
        assert_eq!(reader.known.len(), 1);
        reader.read(&add(&mut encoder, "8")).unwrap();
        assert_eq!(reader.read(&[0x88, 0xbe]), Ok(Facts { status: Some(200), length: Some(8) }));
    }

    #[test]
    fn many_blocks_have_a_bound() {
        let mut reader = HeaderReader::default();
        for n in 0..100u64 {
            let text = n.to_string();
            let block =
                block(&mut Encoder::default(), &[(":status", "200"), ("content-length", &text)], 0x10);
            assert_eq!(reader.read(&block).unwrap().length, Some(n));
            assert!(reader.known.len() <= KNOWN_MAX);
        }
    }

    #[test]
    fn wrong_statuses_and_lengths_are_refused() {
        for fields in [
            &[(":status", "20")][..],
            &[(":status", "099")],
            &[(":status", "2000")],
            &[(":status", "200"), (":status", "200")],
            &[("content-length", "-1")],
            &[("content-length", "")],
            &[("content-length", "1"), ("content-length", "2")],
        ] {
            let block = block(&mut Encoder::default(), fields, 0x10);
            assert_eq!(HeaderReader::default().read(&block), Err(Fault::Malformed), "{fields:?}");
        }
    }

    #[test]
    fn a_list_of_headers_has_a_bound() {
        let mut encoder = Encoder::default();
        let long = "x".repeat(4000);
        let add = block(&mut encoder, &[("a", &long)], FLAGS | Encoder::WITH_INDEXING);
        let bomb = [add, vec![0xbe; 1000]].concat();
        assert_eq!(HeaderReader::default().read(&bomb), Err(Fault::TooLarge));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(blocks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 1..4)) {
            let mut reader = HeaderReader::default();
            for block in &blocks {
                let _ = reader.read(block);
            }
        }

        #[test]
        fn a_block_cut_off_anywhere_is_no_panic(value in "[ -~]{0,20}", cut in 0usize..60) {
            let block = block(&mut Encoder::default(), &[(":status", "200"), ("name", &value)], FLAGS);
            let _ = HeaderReader::default().read(&block[..cut.min(block.len())]);
        }
    }
}
