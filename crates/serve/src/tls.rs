//! TLS of a server: its certificate, and the secret of its tickets, which all its processes share.
//!
//! Both are there before a process is forked. A program that is executed for each connection inherits a memory file
//! (memfd_create(2)) with them, which has no name that another program could open.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use pitot_proto::{Layers, TlsBegins, Worker};
use pitot_tls::server::{Identity, IdentityError, KernelCipher, SECRET_BYTES, Secret, TlsServer};
use rustix::fs::{MemfdFlags, memfd_create};

use crate::kernel_tls;

/// What TLS needs, as planned.
#[derive(Clone, Debug)]
pub struct TlsPlan {
    /// The certificate with its key.
    pub identity: Identity,
    /// What the keys of tickets are derived from.
    pub secret: Secret,
    /// Whether the kernel encrypts and decrypts behind the handshake.
    pub in_kernel: InKernel,
}

/// Whether the kernel encrypts and decrypts behind the handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InKernel {
    /// It does not.
    No,
    /// It does, with the ciphers that it turns out to have.
    Yes,
    /// It does, with these ciphers, which another process of the server has found.
    With(Vec<KernelCipher>),
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
        let mut has_ciphers = [0; 1 + KernelCipher::ALL.len()];
        file.read_exact(&mut has_ciphers)?;
        let in_kernel = match has_ciphers.split_first() {
            Some((1, has)) => {
                let ciphers = KernelCipher::ALL.into_iter().zip(has).filter(|(_, has)| **has == 1);
                InKernel::With(ciphers.map(|(cipher, _)| cipher).collect())
            }
            _ => InKernel::No,
        };
        let mut len = [0; 8];
        file.read_exact(&mut len)?;
        let (mut certificates, mut key) = (Vec::new(), Vec::new());
        (&mut file).take(u64::from_le_bytes(len)).read_to_end(&mut certificates)?;
        file.read_to_end(&mut key)?;
        Ok(TlsPlan {
            identity: Identity { certificates, key },
            secret: Secret::from_bytes(secret),
            in_kernel,
        })
    }

    /// A memory file for programs that this process executes.
    ///
    /// # Errors
    /// EMFILE, ENFILE, ENOMEM.
    pub fn to_file(&self) -> io::Result<OwnedFd> {
        let mut file = File::from(memfd_create("pitot-tls", MemfdFlags::CLOEXEC)?);
        let Identity { certificates, key } = &self.identity;
        file.write_all(self.secret.as_bytes())?;
        let ciphers = self.in_kernel.ciphers();
        file.write_all(&[u8::from(ciphers.is_some())])?;
        let has = |cipher| u8::from(ciphers.as_ref().is_some_and(|ciphers| ciphers.contains(&cipher)));
        file.write_all(&KernelCipher::ALL.map(has))?;
        file.write_all(&(certificates.len() as u64).to_le_bytes())?;
        file.write_all(certificates)?;
        file.write_all(key)?;
        file.rewind()?;
        Ok(file.into())
    }
}

impl InKernel {
    /// The ciphers that the kernel has, if it is to encrypt.
    fn ciphers(&self) -> Option<Vec<KernelCipher>> {
        match self {
            InKernel::No => None,
            InKernel::Yes => Some(kernel_tls::ciphers()),
            InKernel::With(ciphers) => Some(ciphers.clone()),
        }
    }
}

/// TLS, ready for connections.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The plan it was made from.
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
        let mut plan = plan.clone();
        let layers = match plan.in_kernel.ciphers() {
            Some(ciphers) => {
                let layers = TlsServer::with_kernel(&plan.identity, &plan.secret, alpn, &ciphers)?;
                plan.in_kernel = InKernel::With(ciphers);
                layers
            }
            None => TlsServer::new(&plan.identity, &plan.secret, alpn)?,
        };
        Ok(Tls { plan, layers: Arc::new(layers), begins })
    }

    /// Gives TLS to the connections of a worker.
    pub fn prepare(&self, worker: &mut Worker) {
        worker.layers = Some(Arc::clone(&self.layers));
        worker.layers_on_request = self.begins == TlsBegins::OnRequest;
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_program_that_is_executed_inherits_all_of_the_plan() {
        let identity = Identity { certificates: b"certificates".to_vec(), key: b"key".to_vec() };
        let some = vec![KernelCipher::Aes128Gcm, KernelCipher::ChaCha20Poly1305];
        for in_kernel in [InKernel::No, InKernel::With(Vec::new()), InKernel::With(some)] {
            let secret = Secret::from_bytes([7; SECRET_BYTES]);
            let plan = TlsPlan { identity: identity.clone(), secret, in_kernel };
            let file = plan.to_file().unwrap();
            let inherited = TlsPlan::inherited(file.as_raw_fd() as u32).unwrap();
            assert_eq!(inherited.in_kernel, plan.in_kernel);
            assert_eq!(inherited.secret.as_bytes(), plan.secret.as_bytes());
            assert_eq!(inherited.identity.certificates, identity.certificates);
            assert_eq!(inherited.identity.key, identity.key);
        }
    }
}
