//! A port for a server that cannot choose one itself.
//!
//! Between the choice and the server's bind(2) the port belongs to nobody. The kernel gives ports of
//! `net.ipv4.ip_local_port_range` to connections and to other servers, and one that it gives away in that time makes
//! the server fail, or the lab take another program for it. So the port is one that the kernel gives to nobody.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, TcpListener};
use std::ops::{Range, RangeInclusive};

use pitot_sys::local_ports;

/// The lowest port that is chosen. Common services have lower ones.
const LOWEST: u16 = 10_000;
/// Ports that are tried before the kernel is asked for one.
const ATTEMPTS: usize = 100;

/// A port of `address` on which nothing listens.
pub(super) fn free_port(address: IpAddr) -> io::Result<u16> {
    let ours = below(local_ports());
    let random = RandomState::new();
    let chosen = (0..ATTEMPTS)
        .filter(|_| !ours.is_empty())
        .map(|attempt| ours.start + (random.hash_one(attempt) % ours.len() as u64) as u16)
        .find(|port| TcpListener::bind((address, *port)).is_ok());
    match chosen {
        Some(port) => Ok(port),
        None => Ok(TcpListener::bind((address, 0))?.local_addr()?.port()),
    }
}

/// The ports below those that the kernel gives away; none if it does not tell which these are.
fn below(theirs: Option<RangeInclusive<u16>>) -> Range<u16> {
    LOWEST..theirs.map_or(LOWEST, |theirs| *theirs.start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_those_that_the_kernel_gives_to_nobody() {
        assert_eq!(below(Some(32768..=60999)), LOWEST..32768);
        assert!(below(Some(1024..=65535)).is_empty());
        assert!(below(None).is_empty());
    }

    #[test]
    fn a_chosen_port_is_free() {
        let address = std::net::Ipv4Addr::LOCALHOST.into();
        let port = free_port(address).unwrap();
        TcpListener::bind((address, port)).unwrap();
    }
}
