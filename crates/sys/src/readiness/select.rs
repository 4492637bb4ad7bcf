//! select(2): bit sets by descriptor number, copied in and out and scanned by both sides in every wait.
//!
//! The kernel takes sets of any size; only the C library's `fd_set` ends at 1024 (FD_SETSIZE), so the sets here are
//! plain arrays of words and no descriptor is too high.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use super::interface::{Interest, Readiness, Ready, Trigger};
use crate::Token;

const WORD_BITS: usize = 64;

/// select(2), not limited to 1024 descriptors.
#[derive(Debug)]
pub struct Select {
    wanted: Sets,
    result: Sets,
    /// The token of each watched descriptor, by descriptor.
    tokens: Vec<Token>,
    /// Beyond the highest descriptor in which something is of interest.
    end: usize,
}

#[derive(Debug, Default)]
struct Sets {
    read: Vec<u64>,
    write: Vec<u64>,
}

impl Readiness for Select {
    fn trigger(&self) -> Trigger {
        Trigger::Level
    }

    fn new() -> io::Result<Select> {
        Ok(Select { wanted: Sets::default(), result: Sets::default(), tokens: Vec::new(), end: 0 })
    }

    fn watch(&mut self, fd: BorrowedFd<'_>, token: Token, interest: Interest) -> io::Result<()> {
        let fd = fd.as_raw_fd() as usize;
        if self.tokens.len() <= fd {
            self.tokens.resize(fd + 1, Token::default());
            let words = self.tokens.len().div_ceil(WORD_BITS);
            for set in
                [&mut self.wanted.read, &mut self.wanted.write, &mut self.result.read, &mut self.result.write]
            {
                set.resize(words, 0);
            }
        }
        self.end = self.end.max(fd + 1);
        self.set(fd, token, interest);
        Ok(())
    }

    fn rewatch(&mut self, fd: BorrowedFd<'_>, token: Token, interest: Interest) -> io::Result<()> {
        let fd = fd.as_raw_fd() as usize;
        // While nothing was of interest in it the sets may have become shorter.
        self.end = self.end.max(fd + 1);
        self.set(fd, token, interest);
        Ok(())
    }

    fn unwatch(&mut self, fd: BorrowedFd<'_>, _: bool) {
        let fd = fd.as_raw_fd() as usize;
        self.set(fd, Token::default(), Interest::Nothing);
        if fd + 1 == self.end {
            let words = self.wanted.read.iter().zip(&self.wanted.write).map(|(r, w)| r | w);
            self.end = match words.enumerate().rfind(|(_, word)| *word != 0) {
                Some((i, word)) => (i + 1) * WORD_BITS - word.leading_zeros() as usize,
                None => 0,
            };
        }
    }

    fn wait(&mut self, timeout: Option<Duration>, ready: &mut Vec<Ready>) -> io::Result<()> {
        let words = self.end.div_ceil(WORD_BITS);
        self.result.read[..words].copy_from_slice(&self.wanted.read[..words]);
        self.result.write[..words].copy_from_slice(&self.wanted.write[..words]);
        let mut time = timeout.map(|d| libc::timespec {
            tv_sec: d.as_secs().min(i64::MAX as u64) as i64,
            tv_nsec: d.subsec_nanos().into(),
        });
        let time = time.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
        // SAFETY: pselect6 reads and writes the first `end` bits of the two sets, which hold at least that many; the
        // third set and the signal mask are null; the timeout is null or a timespec that outlives the call. The raw
        // call is made because the C library's wrapper is declared for sets of 1024 bits.
        let n = unsafe {
            libc::syscall(
                libc::SYS_pselect6,
                self.end,
                self.result.read.as_mut_ptr(),
                self.result.write.as_mut_ptr(),
                std::ptr::null_mut::<u64>(),
                time,
                std::ptr::null::<libc::c_void>(),
            )
        };
        if n < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) };
        }
        if n == 0 {
            return Ok(());
        }
        for (i, (&read, &write)) in
            self.result.read[..words].iter().zip(&self.result.write[..words]).enumerate()
        {
            let mut either = read | write;
            while either != 0 {
                let bit = either.trailing_zeros();
                either &= either - 1;
                ready.push(Ready {
                    token: self.tokens[i * WORD_BITS + bit as usize],
                    readable: read >> bit & 1 == 1,
                    writable: write >> bit & 1 == 1,
                    ended: false,
                });
            }
        }
        Ok(())
    }
}

impl Select {
    fn set(&mut self, fd: usize, token: Token, interest: Interest) {
        self.tokens[fd] = token;
        let (word, bit) = (fd / WORD_BITS, 1 << (fd % WORD_BITS));
        for (set, wanted) in
            [(&mut self.wanted.read, interest.reads()), (&mut self.wanted.write, interest.writes())]
        {
            if wanted {
                set[word] |= bit;
            } else {
                set[word] &= !bit;
            }
        }
    }
}
