//! Connections over TLS.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use pitot_tls::server::TlsServer;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Clients that have connected and not yet agreed on a key.
const HANDSHAKES_MAX: usize = 256;
/// How long one of them may take. Others wait only if there are too many.
const HANDSHAKE_MAX: Duration = Duration::from_secs(5);

/// A listener whose connections have agreed on a key.
#[derive(Debug)]
pub(crate) struct TlsListener {
    agreed: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    address: SocketAddr,
}

impl TlsListener {
    /// Begins to accept, within a runtime.
    pub(crate) fn start(listener: TcpListener, tls: &TlsServer) -> io::Result<TlsListener> {
        let address = listener.local_addr()?;
        let (sender, agreed) = mpsc::channel(1);
        tokio::spawn(accept(listener, TlsAcceptor::from(tls.config()), sender));
        Ok(TlsListener { agreed, address })
    }
}

async fn accept(
    mut listener: TcpListener,
    acceptor: TlsAcceptor,
    agreed: mpsc::Sender<(TlsStream<TcpStream>, SocketAddr)>,
) {
    let handshakes = Arc::new(Semaphore::new(HANDSHAKES_MAX));
    while let Ok(permit) = Arc::clone(&handshakes).acquire_owned().await {
        let (stream, peer) = Listener::accept(&mut listener).await;
        let (acceptor, agreed) = (acceptor.clone(), agreed.clone());
        tokio::spawn(async move {
            let stream = timeout(HANDSHAKE_MAX, acceptor.accept(stream)).await;
            drop(permit);
            if let Ok(Ok(stream)) = stream {
                // It fails when the server ends.
                let _ = agreed.send((stream, peer)).await;
            }
        });
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.agreed.recv().await {
            Some(accepted) => accepted,
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}
