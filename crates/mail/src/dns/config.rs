//! The system's DNS servers (resolv.conf(5)).

use std::net::{IpAddr, SocketAddr};

/// The limit of the C library.
const SERVERS_MAX: usize = 3;
const PORT: u16 = 53;

/// The servers that a resolv.conf names; the local one if it names none.
pub(super) fn servers(text: &str) -> Vec<SocketAddr> {
    let mut servers: Vec<SocketAddr> = text
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            (words.next()? == "nameserver").then(|| words.next()?.parse::<IpAddr>().ok()).flatten()
        })
        .map(|ip| SocketAddr::new(ip, PORT))
        .take(SERVERS_MAX)
        .collect();
    if servers.is_empty() {
        servers.push(SocketAddr::new([127, 0, 0, 1].into(), PORT));
    }
    servers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nameservers_in_their_order_and_the_local_one_without_any() {
        let text =
            "# nameserver 9.9.9.9\nsearch x\nnameserver 127.0.0.53\nnameserver ::1 # x\nnameserver no\n";
        let expected: [SocketAddr; 2] = ["127.0.0.53:53".parse().unwrap(), "[::1]:53".parse().unwrap()];
        assert_eq!(servers(text), expected);
        assert_eq!(servers(""), ["127.0.0.1:53".parse().unwrap()]);
    }
}
