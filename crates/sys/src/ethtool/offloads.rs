use super::command::Command;

/// The questions of which the answer is one number, 0 or 1: a struct ethtool_value.
const OFFLOADS: &[(&str, u32)] = &[
    ("rx-checksum", 0x14),    // ETHTOOL_GRXCSUM
    ("tx-checksum", 0x16),    // ETHTOOL_GTXCSUM
    ("scatter-gather", 0x18), // ETHTOOL_GSG
    ("tso", 0x1e),            // ETHTOOL_GTSO
    ("gso", 0x23),            // ETHTOOL_GGSO
    ("gro", 0x2b),            // ETHTOOL_GGRO
];

/// Names of offloads and whether they are on, as far as the interface reports them. Empty if there is no such interface.
pub fn offloads(interface: &str) -> Vec<(&'static str, bool)> {
    OFFLOADS.iter().filter_map(|(name, command)| Some((*name, ask(interface, *command)? != 0))).collect()
}

fn ask(interface: &str, command: u32) -> Option<u32> {
    let mut value = [command, 0];
    Command(&mut value).send(interface).ok()?;
    Some(value[1])
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
