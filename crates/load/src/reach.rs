//! Where connections go: to what the host's name resolves to, or to where the options say.

use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

use pitot_meter::Nanos;
use pitot_proto::client::Url;
use pitot_results::Failure;
use pitot_sys::connect::Peer;

use crate::options::ReachOptions;

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
}

impl Named {
    /// Reads `host:port:address`; an IPv6 address may stand in brackets.
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
        let bare = address.strip_prefix('[').and_then(|v6| v6.strip_suffix(']')).unwrap_or(address);
        Ok(Named {
            host: Some(host).filter(|host| !host.is_empty()).ok_or_else(wrong)?.to_ascii_lowercase(),
            port: port.parse().map_err(|_| wrong())?,
            address: bare.parse().map_err(|_| wrong())?,
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
}

impl Reach {
    /// Checks the options, for a target whose port is known.
    pub(crate) fn new(options: &ReachOptions, url: &Url, port: u16) -> Result<Reach, Failure> {
        if let Some(path) = &options.unix {
            return unix(options, path);
        }
        let named = options.resolve.iter().map(|text| Named::parse(text)).collect::<Result<Vec<_>, _>>()?;
        if !named.is_empty() && !named.iter().any(|n| n.is_for(&url.host, port)) {
            return Err(Failure::misuse(
                format!("--resolve names no address for {}:{port}, which is the target", url.host),
                format!("write --resolve {}:{port}:ADDRESS", url.host),
            ));
        }
        Ok(Reach::Names(named))
    }

    /// Where connections to the host go. If it has several addresses they are tried.
    pub(crate) fn find(&self, host: &str, port: u16, timeout: Nanos) -> Result<Peer, Failure> {
        match self {
            Reach::Unix(peer) => Ok(peer.clone()),
            Reach::Names(named) => match named.iter().find(|n| n.is_for(host, port)) {
                Some(named) => Ok(SocketAddr::new(named.address, port).into()),
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

fn unix(options: &ReachOptions, path: &Path) -> Result<Reach, Failure> {
    if !options.resolve.is_empty() {
        return Err(Failure::misuse(
            "--unix names where to connect to, and --resolve has no effect with it",
            "leave one of them out",
        ));
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
    let cure = "check the name, or write the address";
    let addresses: Vec<SocketAddr> = (host, port)
        .to_socket_addrs()
        .map_err(|e| Failure::misuse(format!("the host `{host}` cannot be resolved: {e}"), cure))?
        .collect();
    match addresses.as_slice() {
        [] => Err(Failure::misuse(format!("the host `{host}` has no address"), cure)),
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
        let resolve = |text: &str| ReachOptions { resolve: vec![text.into()], unix: None };
        for (text, url, address) in [
            ("www.Example.invalid:80:127.0.0.9", "http://WWW.example.invalid/", "127.0.0.9:80"),
            ("h.invalid:81:::1", "http://h.invalid:81/", "[::1]:81"),
            ("h.invalid:81:[::1]", "http://h.invalid:81/", "[::1]:81"),
            ("[::1]:81:127.0.0.1", "http://[::1]:81/", "127.0.0.1:81"),
        ] {
            assert_eq!(find(&resolve(text), url).unwrap(), address);
        }
        for text in ["h", "h:80", "h:x:127.0.0.1", ":80:127.0.0.1", "h:80:localhost"] {
            assert!(find(&resolve(text), "http://h/").unwrap_err().what.contains("not an address"), "{text}");
        }
        let other = find(&resolve("other.invalid:80:127.0.0.1"), "http://h.invalid/").unwrap_err();
        assert!(other.what.contains("no address for h.invalid:80"), "{other}");
    }

    #[test]
    fn a_socket_of_the_file_system_needs_no_name() {
        let mut options = ReachOptions { unix: Some("/run/x.sock".into()), resolve: Vec::new() };
        assert_eq!(find(&options, "http://h.invalid/").unwrap(), "unix:/run/x.sock");
        options.resolve = vec!["h.invalid:80:127.0.0.1".into()];
        assert!(find(&options, "http://h.invalid/").is_err());
        let long = ReachOptions { unix: Some("x".repeat(108).into()), resolve: Vec::new() };
        assert!(find(&long, "http://h/").unwrap_err().what.contains("108 bytes"));
    }
}
