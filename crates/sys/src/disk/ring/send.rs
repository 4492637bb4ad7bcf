//! A send in progress: two splices through a pipe, file to pipe and pipe to socket, in turn.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use io_uring::{opcode, squeue, types};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

/// How far a send has come.
pub(super) struct Send {
    pipe: Pipe,
    /// Bytes that the socket has.
    sent: usize,
    /// Bytes in the pipe; zero while it is being filled.
    held: usize,
}

/// What follows a step of a send.
pub(super) enum Step {
    /// Another step.
    Next(Send),
    /// The end: the bytes that the socket has, or the error.
    Over(io::Result<usize>),
}

/// An empty pipe.
struct Pipe {
    reader: OwnedFd,
    writer: OwnedFd,
    capacity: usize,
}

/// What a pipe is asked to hold. The kernel may grant less to a user with many pipes.
const PIPE_BYTES: usize = 256 * 1024;
/// Pipes kept for the next send.
const SPARE_PIPES_MAX: usize = 64;

impl Pipe {
    fn new() -> io::Result<Pipe> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let capacity =
            fcntl_setpipe_size(&writer, PIPE_BYTES).or_else(|_| rustix::pipe::fcntl_getpipe_size(&writer))?;
        Ok(Pipe { reader, writer, capacity })
    }
}

/// Empty pipes, kept for later sends.
#[derive(Default)]
pub(super) struct Pipes(Vec<Pipe>);

impl Pipes {
    /// A send that has not begun.
    ///
    /// # Errors
    /// EMFILE, ENFILE.
    pub(super) fn begin(&mut self) -> io::Result<Send> {
        let pipe = self.0.pop().map_or_else(Pipe::new, Ok)?;
        Ok(Send { pipe, sent: 0, held: 0 })
    }

    /// Takes the result of a step of a send of `len` bytes.
    pub(super) fn advance(&mut self, mut send: Send, len: usize, result: io::Result<usize>) -> Step {
        let over = match result {
            Ok(count) if send.held > 0 => {
                send.sent += count;
                send.held -= count;
                (send.held == 0 && send.sent == len) || count == 0
            }
            // The end of the file.
            Ok(0) => true,
            Ok(count) => {
                send.held = count;
                false
            }
            Err(error) => {
                // What the socket has counts; if it has something, a full one is no error.
                let full = error.kind() == io::ErrorKind::WouldBlock && send.sent > 0;
                let result = if full { Ok(send.sent) } else { Err(error) };
                self.keep(send);
                return Step::Over(result);
            }
        };
        if !over {
            return Step::Next(send);
        }
        let sent = send.sent;
        self.keep(send);
        Step::Over(Ok(sent))
    }

    /// Keeps an empty pipe; one that still holds bytes is closed with them.
    fn keep(&mut self, send: Send) {
        if send.held == 0 && self.0.len() < SPARE_PIPES_MAX {
            self.0.push(send.pipe);
        }
    }
}

impl Send {
    /// The next splice, for `len` bytes of `file` from `offset` on to `socket`.
    pub(super) fn entry(
        &self,
        file: BorrowedFd<'_>,
        offset: u64,
        socket: &OwnedFd,
        len: usize,
    ) -> squeue::Entry {
        // Filling takes no flag: it may wait for the disk, on a worker of the kernel. Emptying must not wait.
        if self.held == 0 {
            let from = (offset + self.sent as u64).cast_signed();
            let count = (len - self.sent).min(self.pipe.capacity) as u32;
            let pipe = self.pipe.writer.as_raw_fd();
            return opcode::Splice::new(types::Fd(file.as_raw_fd()), from, types::Fd(pipe), -1, count)
                .build();
        }
        let more = self.sent + self.held < len;
        let flags = libc::SPLICE_F_NONBLOCK | if more { libc::SPLICE_F_MORE } else { 0 };
        let (pipe, socket) = (self.pipe.reader.as_raw_fd(), socket.as_raw_fd());
        opcode::Splice::new(types::Fd(pipe), -1, types::Fd(socket), -1, self.held as u32).flags(flags).build()
    }
}
