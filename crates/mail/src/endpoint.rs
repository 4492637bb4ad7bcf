//! `HOST[:PORT]` as it is given for the DNS server and the relay.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use pitot_client::ends_in_number;
use pitot_results::Failure;

const CURE: &str = "write HOST:PORT or ADDRESS:PORT";

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// A name, or an address without brackets: what a certificate is checked for.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Endpoint {
    /// Parses it; errors contain `what` it is for.
    pub(crate) fn parse(text: &str, what: &str, default_port: u16) -> Result<Endpoint, Failure> {
        if let Ok(addr) = text.parse::<SocketAddr>() {
            return Ok(Endpoint { host: addr.ip().to_string(), port: addr.port() });
        }
        let unbracketed = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
        if let Ok(ip) = unbracketed.parse::<IpAddr>() {
            return Ok(Endpoint { host: ip.to_string(), port: default_port });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') => (host, Some(port)),
            _ => (text, None),
        };
        if ends_in_number(host) {
            return Err(Failure::misuse(
                format!("the {what} `{text}` is not a full IP address"),
                "write all four numbers, as in 127.0.0.1:PORT",
            ));
        }
        let is_name = !host.is_empty()
            && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
        if !is_name {
            return Err(Failure::misuse(format!("the {what} `{text}` is not a host"), CURE));
        }
        let port = match port.map(str::parse::<u16>) {
            None => default_port,
            Some(Ok(port)) if port > 0 => port,
            Some(_) => {
                let what = format!("the port of the {what} `{text}` is not a number from 1 to 65535");
                return Err(Failure::misuse(what, CURE));
            }
        };
        Ok(Endpoint { host: host.to_owned(), port })
    }

    /// Its addresses, by the system's resolver.
    pub(crate) fn resolve(&self, what: &str) -> Result<Vec<SocketAddr>, Failure> {
        if let Ok(ip) = self.host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(ip, self.port)]);
        }
        match (&*self.host, self.port).to_socket_addrs().map(Iterator::collect::<Vec<_>>) {
            Ok(addrs) if !addrs.is_empty() => Ok(addrs),
            Ok(_) => Err(Failure::misuse(format!("the {what} `{}` has no address", self.host), CURE)),
            Err(e) => Err(Failure::misuse(format!("cannot resolve the {what} `{}`: {e}", self.host), CURE)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_have_a_port_or_get_one() {
        for (text, host, port) in [
            ("mx.test", "mx.test", 25),
            ("mx.test:2525", "mx.test", 2525),
            ("127.0.0.1", "127.0.0.1", 25),
            ("127.0.0.1:587", "127.0.0.1", 587),
            ("::1", "::1", 25),
            ("[::1]", "::1", 25),
            ("[::1]:587", "::1", 587),
        ] {
            let expected = Endpoint { host: host.into(), port };
            assert_eq!(Endpoint::parse(text, "relay", 25), Ok(expected), "{text}");
        }
        for wrong in
            ["", ":25", "mx.test:", "mx.test:0", "mx.test:70000", "mx.test:a", "a b", "127.1", "u@mx.test"]
        {
            assert!(Endpoint::parse(wrong, "relay", 25).is_err(), "{wrong}");
        }
    }
}
