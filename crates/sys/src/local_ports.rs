//! The ports that the kernel gives away by itself (`net.ipv4.ip_local_port_range`, ip(7)).

use std::ops::RangeInclusive;

/// The ports of connections, and of servers that ask for port 0. `None` if the kernel does not tell.
pub fn local_ports() -> Option<RangeInclusive<u16>> {
    parse(&std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?)
}

fn parse(text: &str) -> Option<RangeInclusive<u16>> {
    let mut bounds = text.split_ascii_whitespace().filter_map(|word| word.parse().ok());
    Some(bounds.next()?..=bounds.next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_has_two_bounds() {
        assert_eq!(parse("32768\t60999\n"), Some(32768..=60999));
        assert_eq!((parse("1024"), parse("")), (None, None));
    }
}
