//! The connection to a bus, and the runtime that keeps it.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::{Client, ConnectErrorKind, ConnectOptions};
use pitot_results::Failure;
use tokio::runtime::{Builder, Runtime};

use crate::address::Address;
use crate::credentials::Credentials;
use crate::places::Places;

/// The oldest supported server. Debian 12 has 2.9, which refuses buckets with the required options.
pub const VERSION_MIN: (u32, u32) = (2, 11);

/// Timeout of a reply.
pub(crate) const ANSWER_MAX: Duration = Duration::from_secs(5);

/// A connection to a bus. It is kept over restarts of the server.
pub struct Connection {
    runtime: Runtime,
    pub(crate) client: Client,
    pub(crate) context: Context,
    places: Mutex<Arc<Places>>,
    tell: fn(&str),
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Connection { .. }")
    }
}

impl Connection {
    /// Opens it, and creates streams and buckets that do not exist. `tell` receives messages about the connection.
    ///
    /// # Errors
    /// If credentials are missing or wrong, no server listens, or it is too old or has no `JetStream`.
    pub fn open(
        address: &Address,
        credentials: Option<&Credentials>,
        tell: fn(&str),
    ) -> Result<Connection, Failure> {
        Credentials::check(credentials, address)?;
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|e| {
            Failure::run(format!("no runtime could be created: {e}"), "raise the limit on descriptors")
        })?;
        let options = options(address, credentials, tell);
        let client = runtime
            .block_on(options.connect(address.as_str()))
            .map_err(|e| unreachable(address, credentials.is_some(), e.kind(), &e))?;
        let version = client.server_info().version;
        if !is_new_enough(&version) {
            let (major, minor) = VERSION_MIN;
            return Err(Failure::misuse(
                format!(
                    "the bus at {} is nats-server {version}, and {major}.{minor} is needed",
                    address.as_str()
                ),
                "pitot target install nats-server --yes builds a newer one",
            ));
        }
        // A context has a task of the runtime.
        let context = runtime.block_on(async {
            let mut context = async_nats::jetstream::new(client.clone());
            context.set_timeout(ANSWER_MAX);
            context
        });
        let places = runtime.block_on(Places::reach(&context)).map_err(|e| {
            Failure::run(
                format!("the bus at {} cannot hold jobs: {e}", address.as_str()),
                "start it with JetStream (nats-server -js), and grant these credentials the permissions of docs/bus.md",
            )
        })?;
        Ok(Connection { runtime, client, context, places: Mutex::new(Arc::new(places)), tell })
    }

    /// What lies on the bus.
    pub(crate) fn places(&self) -> Arc<Places> {
        Arc::clone(&self.places.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Recreates streams and buckets that the bus has lost, and reports it.
    pub(crate) async fn restore(&self) {
        if !Places::are_lost(&self.context).await {
            return;
        }
        if let Ok(places) = Places::reach(&self.context).await {
            *self.places.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(places);
            (self.tell)("the bus had lost its streams and buckets with their content; they were recreated");
        }
    }

    /// Waits until what was sent has left, and no longer than for the answer of a bus that is there.
    pub(crate) async fn flush(&self) {
        let _ = tokio::time::timeout(ANSWER_MAX, self.client.flush()).await;
    }

    pub(crate) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }
}

fn options(address: &Address, credentials: Option<&Credentials>, tell: fn(&str)) -> ConnectOptions {
    let none = Credentials::default();
    let is_known = credentials.is_some();
    let c = credentials.unwrap_or(&none);
    let mut options = ConnectOptions::new()
        .name("pitot")
        .connection_timeout(ANSWER_MAX)
        .request_timeout(Some(ANSWER_MAX))
        // Credentials are for the server that was named.
        .ignore_discovered_servers()
        .max_reconnects(None)
        // Many clients that come back at once are a storm.
        .reconnect_delay_callback(|attempts| {
            Duration::from_millis(100 << attempts.min(6)).min(Duration::from_secs(5))
        })
        .event_callback(move |event| async move {
            match event {
                async_nats::Event::Disconnected => tell("the connection to the bus was lost; reconnecting"),
                async_nats::Event::Connected => tell("connected to the bus"),
                async_nats::Event::ServerError(e) => tell(&format!("error of the bus: {e}")),
                _ => {}
            }
        })
        .require_tls(address.is_tls() || c.tls_ca.is_some() || c.tls_cert.is_some());
    debug_assert!(is_known || address.is_loopback());
    if let Some(token) = &c.token {
        options = options.token(token.clone());
    }
    if let (Some(user), Some(password)) = (&c.user, &c.password) {
        options = options.user_and_password(user.clone(), password.clone());
    }
    if let Some(seed) = &c.nkey {
        options = options.nkey(seed.clone());
    }
    if let Some(ca) = &c.tls_ca {
        options = options.add_root_certificates(ca.clone());
    }
    if let (Some(cert), Some(key)) = (&c.tls_cert, &c.tls_key) {
        options = options.add_client_certificate(cert.clone(), key.clone());
    }
    options
}

fn unreachable(
    address: &Address,
    with_credentials: bool,
    kind: ConnectErrorKind,
    e: &dyn std::fmt::Display,
) -> Failure {
    let at = address.as_str();
    match kind {
        ConnectErrorKind::AuthorizationViolation if with_credentials => Failure::misuse(
            format!("the bus at {at} refuses these credentials"),
            "check the file of --bus-creds",
        ),
        ConnectErrorKind::AuthorizationViolation => Failure::misuse(
            format!("the bus at {at} requires credentials"),
            "pass a file with them: --bus-creds FILE (docs/bus.md)",
        ),
        ConnectErrorKind::Authentication => Failure::misuse(
            "the nkey of the credentials is not a seed",
            "use a seed, which begins with SU (docs/bus.md)",
        ),
        ConnectErrorKind::Tls => Failure::run(
            format!("no TLS with the bus at {at}: {e}"),
            "check tls-ca, tls-cert and tls-key of --bus-creds, and the names in the server's certificate",
        ),
        _ => Failure::run(
            format!("no bus at {at}: {e}"),
            "start one: nats-server -js (pitot target install nats-server --yes builds it)",
        ),
    }
}

fn is_new_enough(version: &str) -> bool {
    let mut parts = version.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let (major, minor) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    (major, minor) >= VERSION_MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_servers_are_known_by_their_version() {
        for (version, is_enough) in [
            ("2.9.10", false),
            ("2.10.29", false),
            ("2.11.0", true),
            ("2.15.2-beta", true),
            ("3.0", true),
            ("", false),
        ] {
            assert_eq!(is_new_enough(version), is_enough, "{version}");
        }
    }
}
