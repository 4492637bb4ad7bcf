//! Where connections go: to what the host's name resolves to, or to where the options say.

use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

use pitot_client::Url;
use pitot_meter::Nanos;
use pitot_results::Failure;
use pitot_sys::connect::Peer;

use crate::options::ReachOptions;
use pitot_drive::names::Lookup;

/// How long to wait for each of several addresses of a host.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(1);
/// The longest name of a socket that the kernel takes (unix(7)).
const UNIX_PATH_MAX: usize = 107;

/// The address of one host and port, as `--resolve` says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    host: String,
    port: u16,
    address: IpAddr,
    /// Where connections go there, if not to the same port.
    to_port: Option<u16>,
}

impl Named {
    /// Reads `host:port:address`, or `host:port:address:port`; an IPv6 address may stand in brackets, and does before a port.
    fn parse(text: &str) -> Result<Named, Failure> {
        let wrong = || {
            Failure::misuse(
                format!("`{text}` is not an address for a name"),
                "write it like --resolve www.example.com:80:127.0.0.1",
            )
        };
        let (host, rest) = match text.strip_prefix('[') {
            Some(v6) => v6.split_once("]:").ok_or_else(wrong)?,
            None => text.split_once(':').ok_or_else(wrong)?,
        };
        let (port, address) = rest.split_once(':').ok_or_else(wrong)?;
        let whole = address.parse::<SocketAddr>().ok();
        let bare = address.strip_prefix('[').and_then(|v6| v6.strip_suffix(']')).unwrap_or(address);
        Ok(Named {
            host: Some(host).filter(|host| !host.is_empty()).ok_or_else(wrong)?.to_ascii_lowercase(),
            port: port.parse().map_err(|_| wrong())?,
            address: match whole {
                Some(whole) => whole.ip(),
                None => bare.parse().map_err(|_| wrong())?,
            },
            to_port: whole.map(|whole| whole.port()),
        })
    }
}

/// Where a run connects to.
#[derive(Clone, Debug)]
pub(crate) enum Reach {
    /// To what these say, or else to what the name resolves to.
    Names(Vec<Named>),
    /// To a socket of the file system.
    Unix(Peer),
    /// To what a resolver says, which is asked before each connection.
    Asked(Lookup),
}

impl Reach {
    /// Checks the options, for a target whose port is known.
    pub(crate) fn new(options: &ReachOptions, url: &Url, port: u16) -> Result<Reach, Failure> {
        if let Some(resolver) = options.resolver {
            return asked(options, resolver, url, port);
        }
        if let Some(path) = &options.unix {
            return unix(options, path);
        }
        let named = options.resolve.iter().map(|text| Named::parse(text)).collect::<Result<Vec<_>, _>>()?;
        if !named.is_empty() && !named.iter().any(|n| n.is_for(&url.host, port)) {
            return Err(Failure::misuse(
                format!("--resolve has no address for the target, {}:{port}", url.host),
                format!("write --resolve {}:{port}:ADDRESS", url.host),
            ));
        }
        Ok(Reach::Names(named))
    }

    /// What is asked before each connection, if anything is.
    pub(crate) fn lookup(&self) -> Option<&Lookup> {
        match self {
            Reach::Asked(lookup) => Some(lookup),
            Reach::Names(_) | Reach::Unix(_) => None,
        }
    }

    /// Where connections to the host go. If it has several addresses they are tried.
    pub(crate) fn find(&self, host: &str, port: u16, timeout: Nanos) -> Result<Peer, Failure> {
        match self {
            Reach::Unix(peer) => Ok(peer.clone()),
            // Once before the run, so that a name that is nowhere is told at once.
            Reach::Asked(lookup) => lookup.now(timeout).map(Peer::from),
            Reach::Names(named) => match named.iter().find(|n| n.is_for(host, port)) {
                Some(named) => Ok(SocketAddr::new(named.address, named.to_port.unwrap_or(port)).into()),
                None => resolve(host, port, timeout).map(Peer::from),
            },
        }
    }
}

impl Named {
    fn is_for(&self, host: &str, port: u16) -> bool {
        self.port == port && self.host.eq_ignore_ascii_case(host)
    }
}

fn asked(options: &ReachOptions, resolver: SocketAddr, url: &Url, port: u16) -> Result<Reach, Failure> {
    if options.unix.is_some() || !options.resolve.is_empty() {
        return Err(Failure::misuse(
            "--resolver asks for an address, and --resolve and --unix say one",
            "remove one of them",
        ));
    }
    if !resolver.ip().is_loopback() {
        return Err(Failure::misuse(
            format!("the resolver {resolver} is not on loopback, and a load queries it for every connection"),
            "start one here, such as pitot fault resolver, and name its address",
        ));
    }
    Lookup::new(resolver, &url.host, port).map(Reach::Asked)
}

fn unix(options: &ReachOptions, path: &Path) -> Result<Reach, Failure> {
    if !options.resolve.is_empty() {
        return Err(Failure::misuse("--resolve has no effect with --unix", "remove one of them"));
    }
    let bytes = path.as_os_str().len();
    if bytes == 0 || bytes > UNIX_PATH_MAX {
        return Err(Failure::misuse(
            format!("the name of the socket has {bytes} bytes, and the kernel takes 1 to {UNIX_PATH_MAX}"),
            "give a shorter path, relative to the current directory for example",
        ));
    }
    Ok(Reach::Unix(Peer::Unix(path.into())))
}

/// The first address of the host that accepts a connection; if there is only one it is not tried.
fn resolve(host: &str, port: u16, timeout: Nanos) -> Result<SocketAddr, Failure> {
    let fix = "check the name, or write the address";
    let addresses: Vec<SocketAddr> = (host, port)
        .to_socket_addrs()
        .map_err(|e| Failure::misuse(format!("the host `{host}` cannot be resolved: {e}"), fix))?
        .collect();
    match addresses.as_slice() {
        [] => Err(Failure::misuse(format!("the host `{host}` has no address"), fix)),
        [only] => Ok(*only),
        several => {
            let timeout = Duration::from(timeout).min(ADDRESS_TIMEOUT);
            let reached = several.iter().find(|a| TcpStream::connect_timeout(a, timeout).is_ok());
            Ok(*reached.unwrap_or(&several[0]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(options: &ReachOptions, url: &str) -> Result<String, Failure> {
        let url = Url::parse(url).unwrap();
        let port = url.port.unwrap_or(80);
        let reach = Reach::new(options, &url, port)?;
        reach.find(&url.host, port, Nanos::from_secs(1)).map(|peer| peer.to_string())
    }

    #[test]
    fn a_name_leads_where_the_option_says() {
        let resolve = |text: &str| ReachOptions { resolve: vec![text.into()], ..ReachOptions::default() };
        for (text, url, address) in [
            ("www.Example.invalid:80:127.0.0.9", "http://WWW.example.invalid/", "127.0.0.9:80"),
            ("h.invalid:81:::1", "http://h.invalid:81/", "[::1]:81"),
            ("h.invalid:81:[::1]", "http://h.invalid:81/", "[::1]:81"),
            ("[::1]:81:127.0.0.1", "http://[::1]:81/", "127.0.0.1:81"),
            ("h.invalid:81:127.0.0.1:90", "http://h.invalid:81/", "127.0.0.1:90"),
            ("h.invalid:81:[::1]:90", "http://h.invalid:81/", "[::1]:90"),
        ] {
            assert_eq!(find(&resolve(text), url).unwrap(), address);
        }
        for text in ["h", "h:80", "h:x:127.0.0.1", ":80:127.0.0.1", "h:80:localhost", "h:80:127.0.0.1:x"] {
            assert!(find(&resolve(text), "http://h/").unwrap_err().what.contains("not an address"), "{text}");
        }
        let other = find(&resolve("other.invalid:80:127.0.0.1"), "http://h.invalid/").unwrap_err();
        assert!(other.what.contains("no address for the target, h.invalid:80"), "{other}");
    }

    #[test]
    fn a_socket_of_the_file_system_needs_no_name() {
        let mut options = ReachOptions { unix: Some("/run/x.sock".into()), ..ReachOptions::default() };
        assert_eq!(find(&options, "http://h.invalid/").unwrap(), "unix:/run/x.sock");
        options.resolve = vec!["h.invalid:80:127.0.0.1".into()];
        assert!(find(&options, "http://h.invalid/").is_err());
        let long = ReachOptions { unix: Some("x".repeat(108).into()), ..ReachOptions::default() };
        assert!(find(&long, "http://h/").unwrap_err().what.contains("108 bytes"));
    }

    #[test]
    fn only_a_resolver_on_loopback_is_asked_and_only_for_a_name() {
        let resolver = |text: &str| ReachOptions { resolver: text.parse().ok(), ..ReachOptions::default() };
        let refused = |options: &ReachOptions, url: &str| find(options, url).unwrap_err().what;
        assert!(refused(&resolver("192.0.2.1:53"), "http://h.test/").contains("not on loopback"));
        assert!(refused(&resolver("127.0.0.1:53"), "http://127.0.0.1/").contains("is an address"));
        let both = ReachOptions { unix: Some("/x".into()), ..resolver("127.0.0.1:53") };
        assert!(find(&both, "http://h.test/").is_err());
    }
}
