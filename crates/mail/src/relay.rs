//! The relay: one host that accepts all mail.

use std::net::SocketAddr;
use std::sync::Arc;

use pitot_results::Failure;

use crate::endpoint::Endpoint;

const PORT: u16 = 25;
/// TLS from the first byte (RFC 8314 section 3.3).
const TLS_PORT: u16 = 465;

/// A relay as it was given.
#[derive(Clone, Debug)]
pub(crate) struct Relay {
    pub(crate) endpoint: Endpoint,
    /// TLS begins with the connection, without STARTTLS.
    pub(crate) implicit_tls: bool,
    /// Its addresses; none in a dry run.
    pub(crate) addrs: Vec<SocketAddr>,
}

impl Relay {
    /// Parses `HOST[:PORT]`, `smtp://HOST[:PORT]` or `smtps://HOST[:PORT]`. Port 465 means TLS too.
    pub(crate) fn parse(text: &str) -> Result<Relay, Failure> {
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (Some(scheme), rest.strip_suffix('/').unwrap_or(rest)),
            None => (None, text),
        };
        let default = if scheme == Some("smtps") { TLS_PORT } else { PORT };
        let endpoint = Endpoint::parse(rest, "relay", default)?;
        let implicit_tls = match scheme {
            None => endpoint.port == TLS_PORT,
            Some("smtp") => false,
            Some("smtps") => true,
            Some(other) => {
                return Err(Failure::misuse(
                    format!("a relay does not support `{other}://`"),
                    "write HOST:PORT, or smtps://HOST:PORT for TLS from the first byte",
                ));
            }
        };
        Ok(Relay { endpoint, implicit_tls, addrs: Vec::new() })
    }

    /// The name for certificates and messages.
    pub(crate) fn name(&self) -> Arc<str> {
        self.endpoint.host.as_str().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_begins_at_once_with_smtps_and_on_its_port() {
        for (text, port, implicit) in [
            ("mx.test", 25, false),
            ("mx.test:587", 587, false),
            ("mx.test:465", 465, true),
            ("smtp://mx.test:465", 465, false),
            ("smtps://mx.test", 465, true),
            ("smtps://mx.test:2465/", 2465, true),
        ] {
            let relay = Relay::parse(text).unwrap();
            assert_eq!(
                (relay.endpoint.port, relay.implicit_tls, &*relay.name()),
                (port, implicit, "mx.test")
            );
        }
        assert!(Relay::parse("http://mx.test").is_err());
    }
}
