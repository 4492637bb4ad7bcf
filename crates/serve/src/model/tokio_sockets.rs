//! The runtime's sockets, of TCP and of files, which are types without a trait in common.

use std::future::Future;
use std::io;
use std::os::fd::AsFd;

use tokio::io::Interest;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// A listener.
pub(super) trait Accept: Send + 'static {
    /// The socket of a connection.
    type Stream: Stream;
    /// The next connection.
    fn next(&self) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

/// The socket of a connection.
pub(super) trait Stream: AsFd + Send + Sync + 'static {
    /// Waits until it may be ready.
    fn until_ready(&self, interest: Interest) -> impl Future<Output = io::Result<()>> + Send;
    /// Tries something; if that would block, it is not ready any more.
    fn attempt(&self, interest: Interest, work: impl FnOnce() -> io::Result<()>) -> io::Result<()>;
}

macro_rules! sockets {
    ($listener:ident $stream:ident) => {
        impl Accept for $listener {
            type Stream = $stream;
            async fn next(&self) -> io::Result<$stream> {
                Ok(self.accept().await?.0)
            }
        }

        impl Stream for $stream {
            async fn until_ready(&self, interest: Interest) -> io::Result<()> {
                self.ready(interest).await.map(drop)
            }

            fn attempt(&self, interest: Interest, work: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
                self.try_io(interest, work)
            }
        }
    };
}

sockets!(TcpListener TcpStream);
sockets!(UnixListener UnixStream);
