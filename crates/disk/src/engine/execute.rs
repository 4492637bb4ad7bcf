//! Executing a request at once, on the calling thread.

use std::io;

use pitot_sys::disk::Transfer;
use rustix::io::Errno;
use rustix::{fs, io as sys};

use crate::DiskOp;

/// Reads, writes or syncs with plain system calls. A read continues to its length or the end of the file.
pub(super) fn whole(operation: &mut DiskOp) -> io::Result<usize> {
    from(operation, 0)
}

/// As [`whole`], for a request whose first `done` bytes are already moved.
pub(super) fn from(operation: &mut DiskOp, done: usize) -> io::Result<usize> {
    let (file, offset) = (&operation.file, operation.offset);
    match &mut operation.transfer {
        Transfer::Read { buffer, len } => {
            let into = &mut buffer[..*len];
            moved(done, into.len(), |at| sys::pread(file, &mut into[at..], offset + at as u64))
        }
        Transfer::Write { buffer, len } => {
            let bytes = &buffer[..*len];
            moved(done, bytes.len(), |at| sys::pwrite(file, &bytes[at..], offset + at as u64))
        }
        Transfer::Sync { data_only: true } => Ok(fs::fdatasync(file).map(|()| 0)?),
        Transfer::Sync { data_only: false } => Ok(fs::fsync(file).map(|()| 0)?),
        Transfer::Send { .. } => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Sends with sendfile(2) up to the length or the end of the file, or until the socket is full.
pub(super) fn sending(operation: &mut DiskOp) -> io::Result<usize> {
    match &operation.transfer {
        Transfer::Send { socket, len } => moved(0, *len, |at| {
            let mut offset = operation.offset + at as u64;
            fs::sendfile(socket, &operation.file, Some(&mut offset), len - at)
        }),
        Transfer::Read { .. } => Err(io::ErrorKind::Unsupported.into()),
        Transfer::Write { .. } | Transfer::Sync { .. } => whole(operation),
    }
}

/// Repeats `step`, which moves bytes from where the last one ended, until `len` are moved or one moves none. An error
/// counts only if nothing was moved before it: a request for the rest will meet it again.
fn moved(
    mut done: usize,
    len: usize,
    mut step: impl FnMut(usize) -> Result<usize, Errno>,
) -> io::Result<usize> {
    while done < len {
        match step(done) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(Errno::INTR) => {}
            Err(error) if done == 0 => return Err(error.into()),
            Err(_) => break,
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_after_some_bytes_is_a_short_count() {
        let mut answers = [Ok(3), Err(Errno::INTR), Ok(2), Err(Errno::IO)].into_iter();
        assert_eq!(moved(0, 10, |_| answers.next().unwrap()).unwrap(), 5);
        let error = moved(0, 10, |_| Err(Errno::IO)).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(5));
    }
}
