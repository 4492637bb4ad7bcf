//! The framing between a relay and its data process, described in docs/relay-framing.md. It performs no I/O.

use pitot_proto::{OpenError, StoreError};

/// Length of the header before each payload, in bytes.
pub const HEADER_BYTES: usize = 16;
/// Length of the longest payload, in bytes.
pub const PAYLOAD_MAX: usize = 128 << 10;
/// Length of the secret in a HELLO, in bytes.
pub const SECRET_BYTES: usize = 16;

const STAT_BYTES: usize = 28;

/// Identifies one state of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Length in bytes.
    pub size: u64,
    /// Time of last modification, in seconds since 1970-01-01 UTC.
    pub modified_s: u64,
    /// Its nanoseconds.
    pub modified_ns: u32,
    /// The inode number.
    pub inode: u64,
}

/// Why a request about a file failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The file cannot be opened or read.
    Open(OpenError),
    /// The file has changed since the relay requested its state.
    Changed,
    /// The file cannot be stored.
    Store(StoreError),
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// The first frame of a relay.
    Hello {
        /// The secret that both processes got from their parent.
        secret: [u8; SECRET_BYTES],
    },
    /// The answer to it.
    Welcome,
    /// Requests the state of a file.
    Look {
        /// Below the root.
        path: &'a [u8],
    },
    /// The answer to it.
    Known(Stat),
    /// Requests a range of a file.
    Read {
        /// The state that the file must still be in.
        stat: Stat,
        /// Start of the range.
        offset: u64,
        /// Length of the range.
        len: u64,
        /// Initial credit in bytes.
        window: u32,
        /// Below the root.
        path: &'a [u8],
    },
    /// The next bytes of a range.
    Data(&'a [u8]),
    /// Grants credit for this many more bytes.
    Credit(u32),
    /// Cancels the rest of a range, or an upload.
    Cancel,
    /// A request has failed.
    Failed(Failure),
    /// Sends the next bytes of an upload.
    Store {
        /// Path below the root in the first step; empty in those that follow.
        path: &'a [u8],
        /// True if these are the last bytes: the file is synchronised and renamed to its path.
        is_last: bool,
        /// The bytes to append.
        bytes: &'a [u8],
    },
    /// Reports that a step of an upload is complete.
    Stored,
}

/// Malformed input, after which the connection has to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

const HELLO: u8 = 1;
const WELCOME: u8 = 2;
const LOOK: u8 = 3;
const KNOWN: u8 = 4;
const READ: u8 = 5;
const DATA: u8 = 6;
const CREDIT: u8 = 7;
const CANCEL: u8 = 8;
const FAILED: u8 = 9;
const STORE: u8 = 10;
const STORED: u8 = 11;

/// The failures, indexed by their code.
const FAILURES: [Failure; 13] = [
    Failure::Open(OpenError::NotFound),
    Failure::Open(OpenError::Forbidden),
    Failure::Open(OpenError::IsDirectory),
    Failure::Open(OpenError::NotRegular),
    Failure::Open(OpenError::NameTooLong),
    Failure::Open(OpenError::Unavailable),
    Failure::Open(OpenError::Failed),
    Failure::Changed,
    Failure::Store(StoreError::NoSpace),
    Failure::Store(StoreError::NoDirectory),
    Failure::Store(StoreError::Forbidden),
    Failure::Store(StoreError::Failed),
    Failure::Store(StoreError::Unavailable),
];
/// The code of an unspecified failure.
const OPEN_FAILED: usize = 6;
const _: () = assert!(matches!(FAILURES[OPEN_FAILED], Failure::Open(OpenError::Failed)));

/// The header of a DATA frame of that length.
pub fn data_header(stream: u64, len: usize) -> [u8; HEADER_BYTES] {
    header(DATA, stream, len)
}

fn header(kind: u8, stream: u64, len: usize) -> [u8; HEADER_BYTES] {
    assert!(len <= PAYLOAD_MAX, "a payload of {len} bytes");
    let mut header = [0; HEADER_BYTES];
    header[..4].copy_from_slice(&(len as u32).to_le_bytes());
    header[4] = kind;
    header[8..].copy_from_slice(&stream.to_le_bytes());
    header
}

/// Appends a frame to `out`.
pub fn write(out: &mut Vec<u8>, stream: u64, frame: &Frame<'_>) {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    let kind = match frame {
        Frame::Hello { secret } => {
            out.extend_from_slice(secret);
            HELLO
        }
        Frame::Welcome => WELCOME,
        Frame::Look { path } => {
            out.extend_from_slice(path);
            LOOK
        }
        Frame::Known(stat) => {
            write_stat(out, stat);
            KNOWN
        }
        Frame::Read { stat, offset, len, window, path } => {
            write_stat(out, stat);
            out.extend_from_slice(&offset.to_le_bytes());
            out.extend_from_slice(&len.to_le_bytes());
            out.extend_from_slice(&window.to_le_bytes());
            out.extend_from_slice(path);
            READ
        }
        Frame::Data(bytes) => {
            out.extend_from_slice(bytes);
            DATA
        }
        Frame::Credit(bytes) => {
            out.extend_from_slice(&bytes.to_le_bytes());
            CREDIT
        }
        Frame::Cancel => CANCEL,
        Frame::Failed(failure) => {
            out.push(FAILURES.iter().position(|f| f == failure).unwrap_or(OPEN_FAILED) as u8);
            FAILED
        }
        Frame::Store { path, is_last, bytes } => {
            out.push(u8::from(*is_last));
            out.extend_from_slice(&(path.len() as u16).to_le_bytes());
            out.extend_from_slice(path);
            out.extend_from_slice(bytes);
            STORE
        }
        Frame::Stored => STORED,
    };
    let len = out.len() - start - HEADER_BYTES;
    out[start..start + HEADER_BYTES].copy_from_slice(&header(kind, stream, len));
}

fn write_stat(out: &mut Vec<u8>, stat: &Stat) {
    out.extend_from_slice(&stat.size.to_le_bytes());
    out.extend_from_slice(&stat.modified_s.to_le_bytes());
    out.extend_from_slice(&stat.modified_ns.to_le_bytes());
    out.extend_from_slice(&stat.inode.to_le_bytes());
}

/// Parses the frame at the start of `input`: its stream, the frame, and its length in bytes. `None` if it is
/// incomplete.
///
/// # Errors
/// Malformed input.
pub fn read(input: &[u8]) -> Result<Option<(u64, Frame<'_>, usize)>, Malformed> {
    let Some((header, rest)) = input.split_first_chunk::<HEADER_BYTES>() else { return Ok(None) };
    let mut fields = Fields(header);
    let len = fields.u32()? as usize;
    let [kind, 0, 0, 0] = fields.take::<4>()? else { return Err(Malformed) };
    let stream = fields.u64()?;
    if len > PAYLOAD_MAX {
        return Err(Malformed);
    }
    let Some(payload) = rest.get(..len) else { return Ok(None) };
    let mut fields = Fields(payload);
    let frame = match kind {
        HELLO => Frame::Hello { secret: fields.take()? },
        WELCOME => Frame::Welcome,
        LOOK => Frame::Look { path: fields.rest() },
        KNOWN => Frame::Known(fields.stat()?),
        READ => Frame::Read {
            stat: fields.stat()?,
            offset: fields.u64()?,
            len: fields.u64()?,
            window: fields.u32()?,
            path: fields.rest(),
        },
        DATA if !payload.is_empty() => Frame::Data(fields.rest()),
        CREDIT => Frame::Credit(fields.u32()?),
        CANCEL => Frame::Cancel,
        FAILED => {
            let [code] = fields.take()?;
            Frame::Failed(*FAILURES.get(usize::from(code)).ok_or(Malformed)?)
        }
        STORE => {
            let [is_last @ (0 | 1)] = fields.take::<1>()? else { return Err(Malformed) };
            let path_len = u16::from_le_bytes(fields.take()?);
            let path = fields.bytes(path_len.into())?;
            Frame::Store { path, is_last: is_last == 1, bytes: fields.rest() }
        }
        STORED => Frame::Stored,
        _ => return Err(Malformed),
    };
    if fields.0.is_empty() { Ok(Some((stream, frame, HEADER_BYTES + len))) } else { Err(Malformed) }
}

/// The unread rest of a payload.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (field, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*field)
    }

    fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    fn stat(&mut self) -> Result<Stat, Malformed> {
        const { assert!(STAT_BYTES == 8 + 8 + 4 + 8) };
        Ok(Stat { size: self.u64()?, modified_s: self.u64()?, modified_ns: self.u32()?, inode: self.u64()? })
    }

    fn bytes(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (bytes, rest) = self.0.split_at_checked(len).ok_or(Malformed)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STAT: Stat = Stat { size: 1 << 40, modified_s: 1, modified_ns: 999, inode: u64::MAX };

    fn samples() -> Vec<Frame<'static>> {
        let mut all = vec![
            Frame::Hello { secret: [7; SECRET_BYTES] },
            Frame::Welcome,
            Frame::Look { path: b"a/b" },
            Frame::Look { path: b"" },
            Frame::Known(STAT),
            Frame::Read { stat: STAT, offset: 5, len: u64::MAX, window: 3, path: b"x" },
            Frame::Data(b"bytes"),
            Frame::Credit(u32::MAX),
            Frame::Cancel,
            Frame::Store { path: b"a/b", is_last: false, bytes: b"" },
            Frame::Store { path: b"", is_last: true, bytes: b"bytes" },
            Frame::Stored,
        ];
        all.extend(FAILURES.map(Frame::Failed));
        all
    }

    #[test]
    fn every_frame_is_read_as_it_was_written_however_it_is_cut() {
        let mut bytes = Vec::new();
        for (i, frame) in samples().iter().enumerate() {
            write(&mut bytes, i as u64, frame);
        }
        let mut at = 0;
        for (i, frame) in samples().into_iter().enumerate() {
            let (_, _, len) = read(&bytes[at..]).unwrap().unwrap();
            for cut in 0..len {
                assert_eq!(read(&bytes[at..at + cut]), Ok(None));
            }
            assert_eq!(read(&bytes[at..at + len]), Ok(Some((i as u64, frame, len))));
            at += len;
        }
        assert_eq!(at, bytes.len());
    }

    #[test]
    fn a_header_written_apart_is_that_of_the_whole_frame() {
        let mut whole = Vec::new();
        write(&mut whole, 9, &Frame::Data(b"12345"));
        assert_eq!(data_header(9, 5), whole[..HEADER_BYTES]);
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        let mut long = Vec::new();
        write(&mut long, 1, &Frame::Cancel);
        long[..4].copy_from_slice(&(PAYLOAD_MAX as u32 + 1).to_le_bytes());
        assert_eq!(read(&long), Err(Malformed));
        for (kind, payload) in [
            (0, &b""[..]),
            (CANCEL, b"x"),
            (CREDIT, b"123"),
            (FAILED, b"\xff"),
            (DATA, b""),
            (STORE, b"\x02\0\0"),
            (STORE, b"\0\x02\0x"),
        ] {
            let mut frame = header(kind, 0, payload.len()).to_vec();
            frame.extend_from_slice(payload);
            assert_eq!(read(&frame), Err(Malformed), "{kind} {payload:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_frame_that_can_be_written_again_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(Some((stream, frame, len))) = read(&bytes) {
                let mut again = Vec::new();
                write(&mut again, stream, &frame);
                prop_assert_eq!(&again[..], &bytes[..len]);
            }
        }

        #[test]
        fn reads_survive_the_journey(size in any::<u64>(), offset in any::<u64>(), len in any::<u64>(),
                window in any::<u32>(), path in prop::collection::vec(any::<u8>(), 0..300), stream in any::<u64>()) {
            let frame = Frame::Read { stat: Stat { size, ..STAT }, offset, len, window, path: &path };
            let mut bytes = Vec::new();
            write(&mut bytes, stream, &frame);
            prop_assert_eq!(read(&bytes), Ok(Some((stream, frame, bytes.len()))));
        }
    }
}
