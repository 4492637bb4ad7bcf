//! What a connection keeps for the one that replaces it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::{
    ClientSessionStore, ResolvesClientCert, Tls12ClientSessionValue, Tls13ClientSessionValue,
};
use rustls::pki_types::ServerName;
use rustls::sign::CertifiedKey;
use rustls::{NamedGroup, SignatureScheme};

/// The last session of a connection. All its handshakes are with the same server, so names are ignored.
#[derive(Debug, Default)]
pub(super) struct LastSession(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    group: Option<NamedGroup>,
    tls12: Option<Tls12ClientSessionValue>,
    /// A ticket is used once (RFC 8446 appendix C.4); the next connection gets another.
    tls13: Option<Tls13ClientSessionValue>,
}

impl LastSession {
    fn with<T>(&self, look: impl FnOnce(&mut Kept) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ClientSessionStore for LastSession {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.with(|kept| kept.group = Some(group));
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.with(|kept| kept.group)
    }

    fn set_tls12_session(&self, _: ServerName<'static>, session: Tls12ClientSessionValue) {
        self.with(|kept| kept.tls12 = Some(session));
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.with(|kept| kept.tls12.clone())
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.with(|kept| kept.tls12 = None);
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        self.with(|kept| kept.tls13 = Some(ticket));
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.with(|kept| kept.tls13.take())
    }
}

/// The client's certificate, and whether the server has requested one.
#[derive(Debug)]
pub(super) struct OwnCertificate {
    resolver: Arc<dyn ResolvesClientCert>,
    asked: AtomicBool,
}

impl OwnCertificate {
    pub(super) fn new(resolver: Arc<dyn ResolvesClientCert>) -> OwnCertificate {
        OwnCertificate { resolver, asked: AtomicBool::new(false) }
    }

    /// True if the server has requested a certificate and got none.
    pub(super) fn is_missing(&self) -> bool {
        self.asked.load(Ordering::Relaxed) && !self.resolver.has_certs()
    }

    /// Begins another handshake.
    pub(super) fn reset(&self) {
        self.asked.store(false, Ordering::Relaxed);
    }
}

impl ResolvesClientCert for OwnCertificate {
    fn resolve(&self, roots: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.asked.store(true, Ordering::Relaxed);
        self.resolver.resolve(roots, schemes)
    }

    fn has_certs(&self) -> bool {
        self.resolver.has_certs()
    }
}
