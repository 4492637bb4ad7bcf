//! Offloads of a network interface, as ethtool(8) shows them (SIOCETHTOOL of netdevice(7), include/uapi/linux/ethtool.h).

use std::os::fd::AsRawFd;

/// `SIOCETHTOOL` of include/uapi/linux/sockios.h.
const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// The questions of which the answer is one number, 0 or 1.
const OFFLOADS: &[(&str, u32)] = &[
    ("rx-checksum", 0x14),    // ETHTOOL_GRXCSUM
    ("tx-checksum", 0x16),    // ETHTOOL_GTXCSUM
    ("scatter-gather", 0x18), // ETHTOOL_GSG
    ("tso", 0x1e),            // ETHTOOL_GTSO
    ("gso", 0x23),            // ETHTOOL_GGSO
    ("gro", 0x2b),            // ETHTOOL_GGRO
];

#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Names of offloads and whether they are on, as far as the interface reports them. Empty if there is no such interface.
pub fn offloads(interface: &str) -> Vec<(&'static str, bool)> {
    let Ok(socket) = std::net::UdpSocket::bind("127.0.0.1:0") else { return Vec::new() };
    OFFLOADS
        .iter()
        .filter_map(|(name, command)| Some((*name, ask(&socket, interface, *command)? != 0)))
        .collect()
}

fn ask(socket: &std::net::UdpSocket, interface: &str, command: u32) -> Option<u32> {
    // The name and its NUL.
    if interface.len() >= libc::IFNAMSIZ {
        return None;
    }
    let mut value = EthtoolValue { command, data: 0 };
    // SAFETY: an ifreq holds bytes, integers and a pointer that may be null, so zeroes are a valid one.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the request is an ifreq whose data points to an ethtool_value, as these commands want, and both live
    // until the call returns.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    (result == 0).then_some(value.data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_reports_its_offloads_and_a_missing_interface_none() {
        let found = offloads("lo");
        assert!(found.is_empty() || found.iter().any(|(name, _)| *name == "gso"), "{found:?}");
        assert!(offloads("no-such-if").is_empty());
        assert!(offloads("a-name-that-is-too-long").is_empty());
    }
}
