//! TLS of a server: its certificate, and the secret of its tickets, which all its processes share.
//!
//! Both are there before a process is forked. A program that is executed for each connection inherits a memory file
//! (memfd_create(2)) with them, which has no name that another program could open.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use pitot_proto::{Layers, TlsBegins, Worker};
use pitot_tls::server::{Identity, IdentityError, SECRET_BYTES, Secret, TlsServer};
use rustix::fs::{MemfdFlags, memfd_create};

/// What TLS needs, as planned.
#[derive(Clone, Debug)]
pub struct TlsPlan {
    /// The certificate with its key.
    pub identity: Identity,
    /// What the keys of tickets are derived from.
    pub secret: Secret,
}

impl TlsPlan {
    /// The plan of a process that executed this one, from an inherited memory file.
    ///
    /// # Errors
    /// The descriptor is not that of such a file.
    pub fn inherited(fd: u32) -> io::Result<TlsPlan> {
        let mut file = File::open(format!("/proc/self/fd/{fd}"))?;
        let mut secret = [0; SECRET_BYTES];
        file.read_exact(&mut secret)?;
        let mut len = [0; 8];
        file.read_exact(&mut len)?;
        let (mut certificates, mut key) = (Vec::new(), Vec::new());
        (&mut file).take(u64::from_le_bytes(len)).read_to_end(&mut certificates)?;
        file.read_to_end(&mut key)?;
        Ok(TlsPlan { identity: Identity { certificates, key }, secret: Secret::from_bytes(secret) })
    }

    /// A memory file for programs that this process executes.
    ///
    /// # Errors
    /// EMFILE, ENFILE, ENOMEM.
    pub fn to_file(&self) -> io::Result<OwnedFd> {
        let mut file = File::from(memfd_create("pitot-tls", MemfdFlags::CLOEXEC)?);
        let Identity { certificates, key } = &self.identity;
        file.write_all(self.secret.as_bytes())?;
        file.write_all(&(certificates.len() as u64).to_le_bytes())?;
        file.write_all(certificates)?;
        file.write_all(key)?;
        file.rewind()?;
        Ok(file.into())
    }
}

/// TLS, ready for connections.
#[derive(Clone, Debug)]
pub struct Tls {
    /// What it was made from.
    pub plan: TlsPlan,
    layers: Arc<dyn Layers>,
    begins: TlsBegins,
}

impl Tls {
    /// TLS for a protocol.
    ///
    /// # Errors
    /// The certificate and the key cannot be used.
    pub fn new(plan: &TlsPlan, begins: TlsBegins) -> Result<Tls, IdentityError> {
        let alpn = match begins {
            TlsBegins::AtOnce { alpn } => alpn,
            TlsBegins::OnRequest => &[],
        };
        let layers = Arc::new(TlsServer::new(&plan.identity, &plan.secret, alpn)?);
        Ok(Tls { plan: plan.clone(), layers, begins })
    }

    /// Gives TLS to the connections of a worker.
    pub fn prepare(&self, worker: &mut Worker) {
        worker.layers = Some(Arc::clone(&self.layers));
        worker.layers_on_request = self.begins == TlsBegins::OnRequest;
    }
}
