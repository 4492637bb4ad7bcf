use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::pipe::{PipeFlags, pipe_with};

/// Wakes a waiting loop: a descriptor that becomes readable.
///
/// It is a pipe and not an eventfd(2), as every mechanism can wait for a pipe: realtime signals cannot for an eventfd,
/// which takes no O_ASYNC.
#[derive(Debug)]
pub struct Waker {
    read: OwnedFd,
    write: OwnedFd,
}

impl Waker {
    /// A waker that has not been woken.
    ///
    /// # Errors
    /// EMFILE, ENFILE.
    pub fn new() -> io::Result<Waker> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok(Waker { read, write })
    }

    /// Makes the descriptor readable. This cannot fail: a full pipe is readable already.
    pub fn wake(&self) {
        let _ = rustix::io::write(&self.write, &[1]);
    }

    /// Makes the descriptor unreadable until the next wake.
    pub fn reset(&self) {
        let mut bytes = [0; 64];
        while matches!(rustix::io::read(&self.read, &mut bytes), Ok(n) if n == bytes.len()) {}
    }

    pub(crate) fn write_fd(&self) -> i32 {
        self.write.as_raw_fd()
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.read.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    #[test]
    fn a_reset_waker_is_asleep_however_often_it_was_woken() {
        let waker = Waker::new().unwrap();
        let readable = || {
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            poll(&mut [PollFd::new(&waker, PollFlags::IN)], Some(&now)).unwrap() == 1
        };
        assert!(!readable());
        (0..100_000).for_each(|_| waker.wake());
        assert!(readable());
        waker.reset();
        assert!(!readable());
    }
}
