//! The output of a connection.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::io::IoSlice;
use std::ops::Range;
use std::sync::Arc;

/// Generated content: byte `i` of any generated body is `PATTERN[i % PATTERN.len()]`.
///
/// It is printable text with line breaks, which is safe on a terminal, and its period of 64 lines of 64 bytes is
/// repeated to 64 KiB, so that one send can refer to it many times and no memory is needed per connection.
pub static PATTERN: [u8; 65536] = pattern();

const fn pattern() -> [u8; 65536] {
    let mut block = [0; 65536];
    let mut i = 0;
    while i < block.len() {
        block[i] = pattern_at(i as u64);
        i += 1;
    }
    block
}

/// Byte `at` of generated content.
pub const fn pattern_at(at: u64) -> u8 {
    let (line, column) = (at / 64 % 64, at % 64);
    if column == 63 { b'\n' } else { b'!' + ((line * 31 + column * 7) % 94) as u8 }
}

/// A file that a server has opened, opaque to the protocol.
#[derive(Clone)]
pub struct FileHandle(pub Arc<dyn Any + Send + Sync>);

impl fmt::Debug for FileHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileHandle")
    }
}

/// A part of the output.
#[derive(Clone, Debug)]
pub enum Segment {
    /// Bytes that the outbox owns.
    Bytes(Vec<u8>),
    /// Static bytes.
    Static(&'static [u8]),
    /// A range of bytes shared with others, such as a cached file or a stored value.
    Shared(Arc<[u8]>, Range<usize>),
    /// Generated content: `len` bytes that start at byte `at` of the endless [`PATTERN`].
    Pattern {
        /// Where it starts.
        at: u64,
        /// How many bytes.
        len: u64,
    },
    /// A range of a file.
    File {
        /// The file.
        handle: FileHandle,
        /// The range of bytes.
        range: Range<u64>,
        /// Length of the reply's head, directly before it; 0 if the reply cannot be revoked.
        head_len: usize,
    },
    /// Bytes of a file that have been read already.
    Block(Block),
}

/// A part of a file that has been read into memory, which may belong to a pool.
#[derive(Clone)]
pub struct Block {
    bytes: Arc<dyn AsRef<[u8]> + Send + Sync>,
    /// Which of the bytes.
    part: Range<usize>,
    handle: FileHandle,
    /// Where in the file the part starts.
    at: u64,
}

impl Block {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &(*self.bytes).as_ref()[self.part.clone()]
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Block({} bytes at {})", self.part.len(), self.at)
    }
}

impl Segment {
    /// Bytes in the segment.
    pub fn len(&self) -> u64 {
        match self {
            Segment::Bytes(b) => b.len() as u64,
            Segment::Static(b) => b.len() as u64,
            Segment::Shared(_, range) => range.len() as u64,
            Segment::Pattern { len, .. } => *len,
            Segment::File { range, .. } => range.end - range.start,
            Segment::Block(block) => block.part.len() as u64,
        }
    }

    /// True if nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Limit on the slices of one gathering send.
const GATHER_MAX: usize = 16;
/// Limit on the capacity of a reused buffer: four records of TLS, or as many pipelined replies. It is kept, since the allocator would
/// return such memory to the kernel.
const SPARE_CAPACITY_MAX: usize = 68 << 10;
/// Shared bytes up to this length are copied rather than referenced: one send of one buffer is cheaper.
pub(crate) const COPY_MAX: usize = 4096;

/// Everything that one connection still has to send, in order.
///
/// The front may be lent to the kernel ([`Outbox::lend_front`]) while a core appends to the back. An empty outbox
/// holds at most one spare buffer and serves one connection after another.
#[derive(Debug, Default)]
pub struct Outbox {
    segments: VecDeque<Segment>,
    /// Bytes of the front segment that are sent already.
    sent_of_front: u64,
    /// Bytes queued in all and not yet sent, lent ones not counted.
    len: u64,
    /// Bytes that the kernel has and has not reported as sent.
    lent: u64,
    /// Number of files among the segments, so that a search can be skipped.
    files: usize,
    spare: Vec<u8>,
}

/// The start of an outbox as slices for one gathering send (writev(2), sendmsg(2)).
#[derive(Debug)]
pub struct Gathered<'a> {
    slices: [IoSlice<'a>; GATHER_MAX],
    count: usize,
    /// True if more is queued behind these slices, so that the kernel may hold back a short packet (MSG_MORE).
    pub more: bool,
}

impl<'a> Gathered<'a> {
    /// The slices.
    pub fn slices(&self) -> &[IoSlice<'a>] {
        &self.slices[..self.count]
    }

    fn push(&mut self, bytes: &'a [u8]) {
        if !bytes.is_empty() {
            self.slices[self.count] = IoSlice::new(bytes);
            self.count += 1;
        }
    }
}

impl Outbox {
    /// An empty outbox.
    pub fn new() -> Outbox {
        Outbox::default()
    }

    /// True if nothing is queued and nothing is lent.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty() && self.lent == 0
    }

    /// True if nothing is queued, whatever is lent.
    pub fn is_drained(&self) -> bool {
        self.segments.is_empty()
    }

    /// Bytes that are queued; those that are lent to the kernel do not count.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True if a part of what is queued is on its way already. What is appended to a buffer that is never sent to its end
    /// would make it grow without end.
    pub(crate) fn is_begun(&self) -> bool {
        self.sent_of_front > 0 || self.lent > 0
    }

    /// Bytes that are lent to the kernel.
    pub fn lent(&self) -> u64 {
        self.lent
    }

    /// Appends a copy of `bytes`.
    pub fn bytes(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.buffer().extend_from_slice(bytes);
        self.len += bytes.len() as u64;
    }

    /// Lets `write` append to the buffer at the back; it must not shorten it.
    pub fn write_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let buffer = self.buffer();
        let before = buffer.len();
        write(buffer);
        assert!(buffer.len() >= before, "a core may only append to its outbox");
        let added = buffer.len() - before;
        self.len += added as u64;
        if before == 0 && added == 0 {
            self.drop_empty_back();
        }
    }

    /// Appends static bytes, without a copy if that is cheaper.
    pub fn fixed(&mut self, bytes: &'static [u8]) {
        if bytes.len() <= COPY_MAX {
            self.bytes(bytes);
        } else {
            self.push(Segment::Static(bytes));
        }
    }

    /// Appends a range of shared bytes, copied if that is cheaper than a reference.
    pub fn shared(&mut self, bytes: &Arc<[u8]>, range: Range<usize>) {
        if range.len() <= COPY_MAX {
            self.bytes(&bytes[range]);
        } else {
            self.push(Segment::Shared(Arc::clone(bytes), range));
        }
    }

    /// Appends `len` generated bytes, from the start of the pattern.
    pub fn pattern(&mut self, len: u64) {
        self.pattern_from(0, len);
    }

    /// Appends `len` generated bytes from byte `at` of the pattern.
    pub fn pattern_from(&mut self, at: u64, len: u64) {
        let start = (at % PATTERN.len() as u64) as usize;
        if len <= COPY_MAX as u64 && start + len as usize <= PATTERN.len() {
            self.bytes(&PATTERN[start..start + len as usize]);
        } else {
            self.push(Segment::Pattern { at, len });
        }
    }

    /// Appends a range of a file.
    pub fn file(&mut self, handle: FileHandle, range: Range<u64>) {
        self.file_after_head(handle, range, 0);
    }

    /// Appends a range of a file that ends a reply. Its head, the last `head_len` bytes appended, may still be taken
    /// back if the file turns out to be unreadable; see [`Outbox::revoke`].
    pub fn file_after_head(&mut self, handle: FileHandle, range: Range<u64>, head_len: usize) {
        assert!(range.start <= range.end);
        self.push(Segment::File { handle, range, head_len });
    }

    /// Appends a segment as it is.
    pub fn push(&mut self, segment: Segment) {
        if !segment.is_empty() {
            self.len += segment.len();
            self.files += usize::from(matches!(segment, Segment::File { .. }));
            self.segments.push_back(segment);
        }
    }

    /// The start of the outbox up to the first file, as slices. Empty if a file is in front.
    pub fn gather(&self) -> Gathered<'_> {
        let mut gathered = Gathered { slices: [IoSlice::new(&[]); GATHER_MAX], count: 0, more: false };
        let mut skip = self.sent_of_front;
        let mut after_block = false;
        for segment in &self.segments {
            if gathered.count == GATHER_MAX {
                gathered.more = true;
                break;
            }
            let from = skip as usize;
            match segment {
                Segment::Bytes(b) => gathered.push(&b[from..]),
                Segment::Static(b) => gathered.push(&b[from..]),
                Segment::Shared(b, range) => gathered.push(&b[range.start + from..range.end]),
                Segment::Pattern { at, len } => {
                    let (mut at, mut left) = (at + skip, len - skip);
                    while left > 0 && gathered.count < GATHER_MAX {
                        let start = (at % PATTERN.len() as u64) as usize;
                        let n = left.min((PATTERN.len() - start) as u64);
                        gathered.push(&PATTERN[start..start + n as usize]);
                        at += n;
                        left -= n;
                    }
                    gathered.more |= left > 0;
                }
                Segment::Block(block) => gathered.push(&block.bytes()[from..]),
                Segment::File { .. } => {
                    // What follows a block may have to be read first, which must not delay the block.
                    gathered.more = !after_block;
                    break;
                }
            }
            after_block = matches!(segment, Segment::Block(_));
            skip = 0;
        }
        gathered
    }

    /// The file range in front, if a file is in front.
    pub fn front_file(&self) -> Option<(&FileHandle, Range<u64>)> {
        match self.segments.front() {
            Some(Segment::File { handle, range, .. }) => {
                Some((handle, range.start + self.sent_of_front..range.end))
            }
            _ => None,
        }
    }

    /// The first range of a file, unless a part of it has been read already and still waits to be sent. A driver that
    /// reads files into memory passes the bytes to [`Outbox::fill`].
    pub fn file_to_read(&self) -> Option<(&FileHandle, Range<u64>)> {
        if self.files == 0 {
            return None;
        }
        let skip = |i: usize| if i == 0 { self.sent_of_front } else { 0 };
        self.segments.iter().enumerate().find_map(|(i, segment)| match segment {
            Segment::Block(_) => Some(None),
            Segment::File { handle, range, .. } => Some(Some((handle, range.start + skip(i)..range.end))),
            _ => None,
        })?
    }

    /// Replaces the start of the first range of a file by its content.
    ///
    /// # Panics
    /// If there is none, or the part is longer than it.
    pub fn fill(&mut self, bytes: Arc<dyn AsRef<[u8]> + Send + Sync>, part: Range<usize>) {
        let index = self.segments.iter().position(|s| matches!(s, Segment::File { .. }));
        let index = index.expect("there is a file to be filled in");
        let sent = if index == 0 { std::mem::take(&mut self.sent_of_front) } else { 0 };
        let Segment::File { handle, range, head_len } = &mut self.segments[index] else { unreachable!() };
        let at = range.start + sent;
        range.start = at + part.len() as u64;
        *head_len = 0;
        assert!(!part.is_empty() && range.start <= range.end, "more bytes than the file has");
        let block = Segment::Block(Block { bytes, part, handle: handle.clone(), at });
        if range.is_empty() {
            self.segments[index] = block;
            self.files -= 1;
        } else {
            self.segments.insert(index, block);
        }
    }

    /// Releases the first block: it is replaced by the range of the file that it was read from. False if there is none.
    pub fn unfill(&mut self) -> bool {
        let Some(index) = self.segments.iter().position(|s| matches!(s, Segment::Block(_))) else {
            return false;
        };
        let sent = if index == 0 { std::mem::take(&mut self.sent_of_front) } else { 0 };
        let Segment::Block(Block { part, handle, at, .. }) = &self.segments[index] else { unreachable!() };
        let (handle, start, end) = (handle.clone(), at + sent, at + part.len() as u64);
        if let Some(Segment::File { handle: next, range, .. }) = self.segments.get_mut(index + 1)
            && Arc::ptr_eq(&next.0, &handle.0)
            && range.start == end
        {
            range.start = start;
            self.segments.remove(index);
        } else {
            self.segments[index] = Segment::File { handle, range: start..end, head_len: 0 };
            self.files += 1;
        }
        true
    }

    /// Removes the reply that the first range of a file belongs to, with everything queued after it. False, with nothing
    /// changed, if a part of it has been sent already or the start of its head is not known.
    pub fn revoke(&mut self) -> bool {
        let Some(index) = self.segments.iter().position(|s| matches!(s, Segment::File { .. })) else {
            return false;
        };
        let Segment::File { head_len, range, .. } = &self.segments[index] else { unreachable!() };
        let (head_len, mut revoked) = (*head_len, range.end - range.start);
        let before = index.checked_sub(1).and_then(|i| Some((i, self.segments.get(i)?)));
        let Some((i, Segment::Bytes(bytes))) = before else { return false };
        let sent = if i == 0 { self.sent_of_front as usize } else { 0 };
        if head_len == 0 || sent + head_len > bytes.len() {
            return false;
        }
        let kept = bytes.len() - head_len;
        for segment in self.segments.drain(index + 1..) {
            revoked += segment.len();
        }
        self.segments.pop_back();
        self.len -= revoked + head_len as u64;
        self.files = 0;
        if let Some(Segment::Bytes(bytes)) = self.segments.back_mut() {
            bytes.truncate(kept);
        }
        if kept == sent
            && let Some(Segment::Bytes(buffer)) = self.segments.pop_back()
        {
            if i == 0 {
                self.sent_of_front = 0;
            }
            self.recycle(buffer);
        }
        true
    }

    /// The first `n` bytes are sent.
    ///
    /// # Panics
    /// If fewer than `n` bytes are queued.
    pub fn advance(&mut self, n: u64) {
        assert!(n <= self.len, "sent {n} of {} bytes", self.len);
        self.len -= n;
        self.sent_of_front += n;
        while let Some(front) = self.segments.front() {
            let front_len = front.len();
            if self.sent_of_front < front_len {
                break;
            }
            self.sent_of_front -= front_len;
            match self.segments.pop_front() {
                Some(Segment::Bytes(buffer)) => self.recycle(buffer),
                Some(Segment::File { .. }) => self.files -= 1,
                _ => {}
            }
        }
    }

    /// Lends the first segment to the kernel: the segment and how much of it is sent already. What is appended from
    /// now on goes behind it. What the kernel has sent of it is reported to [`Outbox::return_lent`]; what it is not
    /// given after all goes back with [`Outbox::put_back`].
    pub fn lend_front(&mut self) -> Option<(Segment, u64)> {
        let front = self.segments.pop_front()?;
        let sent = std::mem::take(&mut self.sent_of_front);
        let len = front.len() - sent;
        self.len -= len;
        self.lent += len;
        self.files -= usize::from(matches!(front, Segment::File { .. }));
        Some((front, sent))
    }

    /// Counts the first `n` bytes, which the caller has in memory of its own, as lent to the kernel.
    ///
    /// # Panics
    /// If fewer than `n` bytes are queued.
    pub fn lend(&mut self, n: u64) {
        self.advance(n);
        self.lent += n;
    }

    /// The kernel has sent `n` of the lent bytes.
    ///
    /// # Panics
    /// If fewer were lent.
    pub fn return_lent(&mut self, n: u64) {
        assert!(n <= self.lent, "the kernel sent {n} of {} bytes", self.lent);
        self.lent -= n;
    }

    /// Takes back a lent segment, or the end of one, of which the first `sent` bytes are sent.
    pub fn put_back(&mut self, segment: Segment, sent: u64) {
        assert!(self.sent_of_front == 0 && sent <= segment.len());
        self.lent -= segment.len() - sent;
        if sent == segment.len() {
            if let Segment::Bytes(buffer) = segment {
                self.recycle(buffer);
            }
            return;
        }
        self.len += segment.len() - sent;
        self.files += usize::from(matches!(segment, Segment::File { .. }));
        self.sent_of_front = sent;
        self.segments.push_front(segment);
    }

    /// Drops everything that is queued, when the connection has failed.
    pub fn clear(&mut self) {
        self.advance(self.len);
        self.lent = 0;
    }

    /// Keeps a sent buffer for further output.
    pub fn recycle(&mut self, mut buffer: Vec<u8>) {
        if buffer.capacity() <= SPARE_CAPACITY_MAX && buffer.capacity() > self.spare.capacity() {
            buffer.clear();
            self.spare = buffer;
        }
    }

    /// The owned buffer at the back, created if there is none.
    fn buffer(&mut self) -> &mut Vec<u8> {
        if !matches!(self.segments.back(), Some(Segment::Bytes(_))) {
            self.segments.push_back(Segment::Bytes(std::mem::take(&mut self.spare)));
        }
        match self.segments.back_mut() {
            Some(Segment::Bytes(buffer)) => buffer,
            _ => unreachable!("a buffer was pushed just now"),
        }
    }

    fn drop_empty_back(&mut self) {
        if self.segments.back().is_some_and(Segment::is_empty)
            && let Some(Segment::Bytes(buffer)) = self.segments.pop_back()
        {
            self.recycle(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(out: &mut Outbox, at_a_time: usize) -> Vec<u8> {
        let mut all = Vec::new();
        while !out.is_empty() {
            let gathered = out.gather();
            let bytes: Vec<u8> =
                gathered.slices().iter().flat_map(|s| s.iter().copied()).take(at_a_time).collect();
            assert!(!bytes.is_empty());
            out.advance(bytes.len() as u64);
            all.extend(bytes);
        }
        all
    }

    fn mixed() -> (Outbox, Vec<u8>) {
        let shared: Arc<[u8]> = vec![7; 10_000].into();
        let mut out = Outbox::new();
        out.bytes(b"head");
        out.pattern(200_000);
        out.shared(&shared, 10..9_000);
        out.shared(&shared, 0..3);
        out.fixed(b"tail");
        let mut expected = b"head".to_vec();
        expected.extend((0..200_000).map(pattern_at));
        expected.extend([7; 8_993]);
        expected.extend(b"tail");
        (out, expected)
    }

    #[test]
    fn what_goes_in_comes_out_whatever_the_send_size() {
        for at_a_time in [1, 2, 4095, 65_536, 1 << 20] {
            let (mut out, expected) = mixed();
            assert_eq!(out.len(), expected.len() as u64);
            assert_eq!(drain(&mut out, at_a_time), expected);
            assert_eq!(out.len(), 0);
        }
    }

    #[test]
    fn a_front_lent_to_the_kernel_comes_back_in_place() {
        let (mut out, expected) = mixed();
        out.advance(2);
        let (front, sent) = out.lend_front().unwrap();
        assert_eq!(sent, 2);
        out.bytes(b"more");
        assert_eq!(out.lent(), 2);
        out.put_back(front, 3);
        out.return_lent(1);
        let mut rest = expected[3..].to_vec();
        rest.extend(b"more");
        assert_eq!(drain(&mut out, 5000), rest);
    }

    #[test]
    fn bytes_appended_behind_a_lent_front_do_not_touch_it() {
        let mut out = Outbox::new();
        out.bytes(b"one");
        let (front, _) = out.lend_front().unwrap();
        out.bytes(b"two");
        assert!(matches!(front, Segment::Bytes(ref b) if b == b"one"));
        assert_eq!(out.len(), 3);
    }

    #[test]
    fn a_file_stops_the_gathering_and_is_advanced_in_parts() {
        let mut out = Outbox::new();
        out.bytes(b"h");
        out.file(FileHandle(Arc::new(())), 5..10);
        assert!(out.gather().more);
        assert!(out.front_file().is_none());
        out.advance(3);
        assert_eq!(out.front_file().unwrap().1, 7..10);
        out.advance(3);
        assert!(out.is_empty());
    }

    fn with_file(range: Range<u64>) -> Outbox {
        let mut out = Outbox::new();
        out.bytes(b"before");
        out.bytes(b"head");
        out.file_after_head(FileHandle(Arc::new(())), range, 4);
        out
    }

    #[test]
    fn blocks_take_the_place_of_what_was_read_of_a_file() {
        let mut out = with_file(100..110);
        assert_eq!(out.file_to_read().unwrap().1, 100..110);
        out.fill(Arc::new(b"xx01234".to_vec()), 2..7);
        assert!(out.file_to_read().is_none(), "what was read is to be sent first");
        assert_eq!((out.len(), out.gather().more), (20, false));
        out.advance(12);
        assert_eq!(out.len(), 8);
        out.advance(3);
        assert_eq!(out.file_to_read().unwrap().1, 105..110);
        out.advance(1);
        out.fill(Arc::new(b"6789".to_vec()), 0..4);
        assert_eq!(drain(&mut out, 3), b"6789");
        assert!(out.file_to_read().is_none());
    }

    #[test]
    fn a_block_given_back_is_a_range_of_its_file_again() {
        let mut out = with_file(0..10);
        out.fill(Arc::new(b"01234".to_vec()), 0..5);
        out.advance(12);
        assert!(out.unfill() && !out.unfill());
        assert_eq!((out.file_to_read().unwrap().1, out.len()), (2..10, 8));
        out.fill(Arc::new(b"23456789".to_vec()), 0..8);
        out.advance(1);
        assert!(out.unfill());
        assert_eq!((out.file_to_read().unwrap().1, out.len()), (3..10, 7));
        out.clear();
        assert!(out.is_empty() && out.file_to_read().is_none());
    }

    #[test]
    fn a_reply_is_revoked_whole_or_not_at_all() {
        let mut out = with_file(0..10);
        out.bytes(b"the next reply");
        out.file(FileHandle(Arc::new(())), 0..3);
        assert!(out.revoke());
        assert_eq!(drain(&mut out, 100), b"before");
        let mut out = with_file(0..10);
        out.advance(6);
        assert!(out.revoke() && out.is_empty());
        assert_eq!(out.len(), 0);
        out.bytes(b"error");
        assert_eq!(drain(&mut out, 2), b"error");
        for sent in [7, 10, 12] {
            let mut out = with_file(0..10);
            out.advance(sent);
            assert!(!out.revoke());
            assert_eq!(out.len(), 20 - sent);
        }
        let mut out = with_file(0..10);
        out.fill(Arc::new(b"0".to_vec()), 0..1);
        assert!(!out.revoke(), "a part of it is on its way");
    }

    #[test]
    fn a_write_that_adds_nothing_leaves_nothing() {
        let mut out = Outbox::new();
        out.write_with(|_| {});
        assert!(out.is_empty());
    }
}
