//! The address of the bus.

use std::net::IpAddr;

use pitot_results::Failure;

/// The address of a server: `nats://HOST:PORT`, or `tls://HOST:PORT` for TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    text: String,
    host: String,
    is_tls: bool,
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// If it is none, or has credentials in it: command lines can be read by every user of a machine.
    pub fn parse(text: &str) -> Result<Address, Failure> {
        let wrong = |what: &str| {
            Failure::misuse(
                format!("`{text}` is not an address of a bus: {what}"),
                "write nats://HOST:PORT, or tls://HOST:PORT for TLS",
            )
        };
        let (scheme, rest) = text.split_once("://").ok_or_else(|| wrong("it has no scheme"))?;
        let is_tls = match scheme {
            "nats" => false,
            "tls" => true,
            _ => return Err(wrong("its scheme must be nats or tls")),
        };
        if rest.contains('@') {
            return Err(Failure::misuse(
                "the address of the bus contains credentials, which every user of this machine can read",
                "write them to a file of mode 600, and pass it with --bus-creds (docs/bus.md)",
            ));
        }
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = match rest.strip_prefix('[') {
            Some(rest) => rest.split_once("]:").ok_or_else(|| wrong("it has no port"))?,
            None => rest.rsplit_once(':').ok_or_else(|| wrong("it has no port"))?,
        };
        if host.is_empty() || host.contains(['/', '?', '#', ' ', ',']) {
            return Err(wrong("its host is not a name or an IP address"));
        }
        if !port.parse::<u16>().is_ok_and(|port| port > 0) {
            return Err(wrong("its port is not a number from 1 to 65535"));
        }
        Ok(Address { text: format!("{scheme}://{rest}"), host: host.to_owned(), is_tls })
    }

    /// Whether it can be reached from this machine alone.
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }

    /// Whether it asks for TLS.
    pub fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_mistakes_are_named() {
        for (text, is_loopback) in [
            ("nats://127.0.0.1:4222", true),
            ("nats://localhost:4222/", true),
            ("nats://[::1]:4222", true),
            ("tls://bus.example:4222", false),
            ("nats://10.0.0.1:4222", false),
            // Not an address of this machine, whatever it resolves to.
            ("nats://127.0.0.1.example:4222", false),
        ] {
            assert_eq!(Address::parse(text).unwrap().is_loopback(), is_loopback, "{text}");
        }
        for (text, said) in [
            ("127.0.0.1:4222", "no scheme"),
            ("http://127.0.0.1:4222", "must be nats or tls"),
            ("nats://127.0.0.1", "no port"),
            ("nats://127.0.0.1:0", "65535"),
            ("nats://:4222", "its host"),
            ("nats://a:b@127.0.0.1:4222", "credentials"),
            ("nats://127.0.0.1:1,10.0.0.1:2", "its host"),
        ] {
            let failure = Address::parse(text).unwrap_err();
            assert!(failure.what.contains(said), "{text}: {}", failure.what);
            assert_eq!(failure.exit_code(), 2);
        }
    }
}
