use super::features::features;

/// What ethtool(8) calls an offload, and whether a feature is one of those of which any makes it so.
type Offload = (&'static str, fn(&str) -> bool);

const OFFLOADS: &[Offload] = &[
    ("rx-checksum", |feature| feature == "rx-checksum"),
    ("tx-checksum", |feature| feature.starts_with("tx-checksum-")),
    ("scatter-gather", |feature| feature.starts_with("tx-scatter-gather")),
    ("tso", |feature| feature.starts_with("tx-tcp") && feature.ends_with("-segmentation")),
    ("gso", |feature| feature == "tx-generic-segmentation"),
    ("gro", |feature| feature == "rx-gro"),
];

/// Names of offloads and whether they are on. Empty if there is no such interface.
pub fn offloads(interface: &str) -> Vec<(&'static str, bool)> {
    let Ok(features) = features(interface) else { return Vec::new() };
    let is_on = |makes_it_so: fn(&str) -> bool| {
        features.iter().any(|feature| feature.is_active && makes_it_so(&feature.name))
    };
    OFFLOADS.iter().map(|&(name, makes_it_so)| (name, is_on(makes_it_so))).collect()
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

    #[test]
    fn an_offload_is_on_with_any_of_its_features() {
        let of = |feature: &str| -> Vec<&str> {
            OFFLOADS.iter().filter(|(_, makes_it_so)| makes_it_so(feature)).map(|(name, _)| *name).collect()
        };
        for (feature, offload) in [
            ("tx-checksum-ip-generic", "tx-checksum"),
            ("tx-scatter-gather-fraglist", "scatter-gather"),
            ("tx-tcp6-segmentation", "tso"),
            ("tx-generic-segmentation", "gso"),
            ("rx-gro", "gro"),
        ] {
            assert_eq!(of(feature), [offload]);
        }
        assert!(["rx-gro-hw", "tx-udp-segmentation", "rx-all"].iter().all(|feature| of(feature).is_empty()));
    }
}
