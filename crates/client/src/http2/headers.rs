//! The header fields of replies that matter.

use std::collections::VecDeque;

use httlib_hpack::Decoder;

use super::shape::{self, Shape};
use crate::exchange::Fault;
use crate::http::number;

/// The size of the table that the server may use: the protocol's default.
const TABLE_BYTES: u32 = 4096;
/// The longest list of headers, counted as RFC 9113 section 6.5.2 does.
const LIST_MAX: usize = 256 * 1024;
/// Fields decoded at once.
const BATCH: usize = 32;
/// Blocks that are remembered, and the longest of them in bytes.
const KNOWN_MAX: usize = 8;
const KNOWN_BYTES_MAX: usize = 512;
/// Above this size in bytes, the buffer of a head is shrunk.
const LINES_KEPT: usize = 16 * 1024;

/// The relevant fields of one block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// None in trailers.
    pub(super) status: Option<u16>,
    /// The announced length of the body, bytes.
    pub(super) length: Option<u64>,
}

/// Reads the blocks of one connection.
///
/// Servers send the same bytes again and again: nginx until the second of its `date` changes, others once their fields are in
/// the table. A known block is not decoded again as long as its meaning holds: always, if it uses no field that was added to
/// the table; until the table changes, if it does. What a recognised block adds to the table is added before the next one is
/// decoded: nginx adds every field and never uses one.
#[derive(Default)]
pub(super) struct HeaderReader {
    /// Absent before the first block: many connections may be open without a reply.
    decoder: Option<Box<Decoder<'static>>>,
    known: Vec<Known>,
    /// The next to be forgotten.
    oldest: usize,
    /// Known blocks, by index, that the decoder has still to read, in the order in which they came. Older ones have left the
    /// table again.
    unseen: VecDeque<u8>,
    /// What they add to the table.
    unseen_bytes: usize,
}

struct Known {
    block: Box<[u8]>,
    facts: Facts,
    /// It uses fields that were added to the table.
    refers: bool,
    /// Bytes that it adds to the table.
    adds: usize,
}

impl HeaderReader {
    /// A new connection has an empty table.
    pub(super) fn reset(&mut self) {
        self.decoder = None;
        self.known.clear();
        self.oldest = 0;
        self.unseen.clear();
        self.unseen_bytes = 0;
    }

    pub(super) fn read(&mut self, block: &[u8]) -> Result<Facts, Fault> {
        match self.known.iter().position(|known| *known.block == *block) {
            // Its additions change the meaning of others, which are then forgotten.
            Some(nth) if self.known[nth].adds > 0 && self.known.iter().any(|known| known.refers) => {
                self.decode(block)
            }
            Some(nth) => Ok(self.recognise(nth)),
            None => self.decode(block),
        }
    }

    /// Reads a whole block, and writes its fields as lines of an HTTP/1.1 head behind a meaningless first line.
    ///
    /// Such a connection decodes every block, since it needs more than what is remembered.
    pub(super) fn read_lines(&mut self, block: &[u8], head: &mut Vec<u8>) -> Result<Facts, Fault> {
        shape::of(block)?;
        head.clear();
        head.shrink_to(LINES_KEPT);
        head.extend_from_slice(b"HTTP/2\r\n");
        let (facts, _) = decode(&mut self.decoder, block, |name, value| line(name, value, head))?;
        Ok(facts)
    }

    /// A known block has come again.
    fn recognise(&mut self, nth: usize) -> Facts {
        let Known { facts, adds, .. } = self.known[nth];
        if adds == 0 {
            return facts;
        }
        self.unseen.push_back(nth as u8);
        self.unseen_bytes += adds;
        while let Some(&first) = self.unseen.front()
            && self.unseen_bytes - self.known[usize::from(first)].adds >= TABLE_BYTES as usize
        {
            self.unseen_bytes -= self.known[usize::from(first)].adds;
            self.unseen.pop_front();
        }
        facts
    }

    #[cold]
    fn decode(&mut self, block: &[u8]) -> Result<Facts, Fault> {
        let Shape { adds, resizes, refers } = shape::of(block)?;
        for nth in std::mem::take(&mut self.unseen) {
            decode(&mut self.decoder, &self.known[usize::from(nth)].block, |_, _| Ok(()))?;
        }
        self.unseen_bytes = 0;
        let (facts, added) = decode(&mut self.decoder, block, |_, _| Ok(()))?;
        if adds || resizes {
            // Blocks that use the table have another meaning now.
            self.known.retain(|known| !known.refers && *known.block != *block);
            self.oldest = 0;
        }
        if resizes || adds && refers || block.len() > KNOWN_BYTES_MAX {
            return Ok(facts);
        }
        let known = Known { block: block.into(), facts, refers, adds: added };
        if self.known.len() < KNOWN_MAX {
            self.known.push(known);
        } else {
            self.known[self.oldest] = known;
            self.oldest = (self.oldest + 1) % KNOWN_MAX;
        }
        Ok(facts)
    }
}

/// What a block says, and how much it adds to the table. The block is well formed. Each field is shown to `seen`.
fn decode(
    decoder: &mut Option<Box<Decoder<'static>>>,
    block: &[u8],
    mut seen: impl FnMut(&[u8], &[u8]) -> Result<(), Fault>,
) -> Result<(Facts, usize), Fault> {
    let decoder = decoder.get_or_insert_with(|| Box::new(Decoder::with_dynamic_size(TABLE_BYTES)));
    let mut rest = block.to_vec();
    let mut fields = Vec::with_capacity(BATCH);
    let (mut facts, mut size, mut added) = (Facts::default(), 0, 0);
    while !rest.is_empty() {
        fields.clear();
        decoder.decode_exact(&mut rest, &mut fields).map_err(|_| Fault::Malformed)?;
        for (name, value, flags) in &fields {
            let bytes = name.len() + value.len() + 32;
            size += bytes;
            if flags & Decoder::WITH_INDEXING != 0 {
                added += bytes;
            }
            facts.take(name, value)?;
            seen(name, value)?;
        }
        if size > LIST_MAX {
            return Err(Fault::TooLarge);
        }
    }
    Ok((facts, added))
}

/// Appends a field as a line, unless its name begins with a colon.
///
/// # Errors
/// A field that cannot be in a line, which HTTP/2 does not allow either (RFC 9113 section 8.2.1).
fn line(name: &[u8], value: &[u8], head: &mut Vec<u8>) -> Result<(), Fault> {
    if name.starts_with(b":") {
        return Ok(());
    }
    let wrong_name = |b: &u8| matches!(b, 0..=b' ' | b'A'..=b'Z' | b':' | 0x7f..);
    if name.is_empty() || name.iter().any(wrong_name) || value.iter().any(|b| matches!(b, 0 | b'\r' | b'\n'))
    {
        return Err(Fault::Malformed);
    }
    for piece in [name, b": ", value, b"\r\n"] {
        head.extend_from_slice(piece);
    }
    Ok(())
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
        let added = |length: &str| {
            let flags = FLAGS | Encoder::WITH_INDEXING;
            block(&mut Encoder::default(), &[("content-length", length)], flags)
        };
        let (seven, eight) = (added("7"), added("8"));
        let says = |n| Ok(Facts { status: Some(200), length: Some(n) });
        for _ in 0..3 {
            reader.read(&seven).unwrap();
            assert_eq!(reader.read(&[0x88, 0xbe]), says(7));
            assert_eq!(reader.read(&[0x88, 0xbe]), says(7));
            reader.read(&eight).unwrap();
            assert_eq!(reader.read(&[0x88, 0xbe]), says(8));
            assert_eq!(reader.read(&[0x88, 0xbf]), says(7));
        }
        assert_eq!(reader.read(&plain), Ok(wanted));
    }

    #[test]
    fn what_recognised_blocks_add_is_there_for_the_one_that_uses_it() {
        let flags = FLAGS | Encoder::WITH_INDEXING;
        let blocks: Vec<Vec<u8>> = (0..3)
            .map(|n| {
                block(&mut Encoder::default(), &[("content-length", &format!("{n}")), ("x", "y")], flags)
            })
            .collect();
        // The oracle decodes everything.
        let (mut reader, mut oracle) = (HeaderReader::default(), Decoder::with_dynamic_size(TABLE_BYTES));
        for n in 0..500usize {
            let next = &blocks[n * n % 7 % 3];
            reader.read(next).unwrap();
            oracle.decode(&mut next.clone(), &mut Vec::new()).unwrap();
            assert!(reader.unseen_bytes < TABLE_BYTES as usize + 200);
            if n % 50 == 49 {
                for index in 62..62 + 80u8 {
                    let mut fields = Vec::new();
                    let known = oracle.decode(&mut vec![0x80 | index.min(126)], &mut fields).is_ok();
                    let mut facts = Facts::default();
                    fields.iter().for_each(|(name, value, _)| facts.take(name, value).unwrap());
                    assert_eq!(
                        reader.read(&[0x80 | index.min(126)]).ok(),
                        known.then_some(facts),
                        "{n} {index}"
                    );
                }
            }
        }
    }

    #[test]
    fn lines_are_those_of_every_block_and_hold_no_others() {
        let (mut reader, mut encoder, mut head) = (HeaderReader::default(), Encoder::default(), Vec::new());
        let fields = [(":status", "302"), ("set-cookie", "a=b"), ("location", "/x"), ("set-cookie", "c=d")];
        for _ in 0..3 {
            let block = block(&mut encoder, &fields, FLAGS | Encoder::WITH_INDEXING);
            assert_eq!(reader.read_lines(&block, &mut head).unwrap().status, Some(302));
            assert_eq!(head, b"HTTP/2\r\nset-cookie: a=b\r\nlocation: /x\r\nset-cookie: c=d\r\n");
        }
        for (name, value) in
            [("a", "b\r\nc: d"), ("a", "b\0"), ("a b", "c"), ("Name", "x"), ("a:b", "c"), ("", "x")]
        {
            let block = block(&mut Encoder::default(), &[(":status", "200"), (name, value)], 0);
            assert_eq!(
                HeaderReader::default().read_lines(&block, &mut head),
                Err(Fault::Malformed),
                "{name:?}"
            );
        }
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
