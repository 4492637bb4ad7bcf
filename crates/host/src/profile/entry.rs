use crate::machine::Machine;
use crate::setting;

/// Settings that belong together.
#[derive(Debug)]
pub struct Profile {
    /// What `--profile` takes.
    pub name: &'static str,
    /// What it is for, in one line.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What it sets. What a machine lacks is skipped, and named.
    pub settings: &'static [ProfileSetting],
    /// What the source set that no longer exists.
    pub gone: &'static [Gone],
}

/// One setting of a profile.
#[derive(Debug)]
pub struct ProfileSetting {
    /// The key, which may stand for several.
    pub key: &'static str,
    /// The value.
    pub value: &'static str,
    /// Whether more than it is left as it is, figure by figure.
    pub at_least: bool,
    /// Why.
    pub why: &'static str,
}

/// A setting that no longer exists.
#[derive(Debug)]
pub struct Gone {
    /// As the source wrote it.
    pub what: &'static str,
    /// What there is in its place.
    pub instead: &'static str,
}

impl ProfileSetting {
    /// The value that it is to have on a machine.
    pub fn value_on(&self, machine: &Machine) -> String {
        let found = || setting::of(self.key)?.read(machine, self.key).ok();
        match self.at_least.then(found).flatten() {
            Some(found) => raised(&found, self.value),
            None => self.value.to_owned(),
        }
    }
}

/// What is found, with each figure at least as large as what is wanted; what is wanted, if that are not as many figures.
fn raised(found: &str, wanted: &str) -> String {
    let figures = |text: &str| -> Option<Vec<u64>> {
        text.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()
    };
    match (figures(found), figures(wanted)) {
        (Some(found), Some(wanted)) if found.len() == wanted.len() => {
            let larger = found.iter().zip(&wanted).map(|(found, wanted)| found.max(wanted).to_string());
            larger.collect::<Vec<_>>().join(" ")
        }
        _ => wanted.to_owned(),
    }
}

/// One setting.
pub(super) const fn set(key: &'static str, value: &'static str, why: &'static str) -> ProfileSetting {
    ProfileSetting { key, value, at_least: false, why }
}

/// One setting of which more is as good.
pub(super) const fn at_least(key: &'static str, value: &'static str, why: &'static str) -> ProfileSetting {
    ProfileSetting { key, value, at_least: true, why }
}

/// Of connections, beside a `net.core.somaxconn` of 65535.
pub(super) const HALF_OPEN: ProfileSetting =
    at_least("net.ipv4.tcp_max_syn_backlog", "65535", "Half-open connections.");
/// Of packets, to a server.
pub(super) const BURSTS: ProfileSetting =
    at_least("net.core.netdev_max_backlog", "16384", "Bursts wait for a CPU, and are not dropped.");
/// Before the range of ports is widened.
pub(super) const PORTS_OF_SERVICES: ProfileSetting = set(
    "net.ipv4.ip_local_reserved_ports",
    "listening",
    "No outgoing connection takes the port of a service that listens now.",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_larger_already_stays_figure_by_figure() {
        assert_eq!(raised("4096\t131072\t33554432", "4096 262144 16777216"), "4096 262144 33554432");
        assert_eq!((raised("128", "65535"), raised("", "5")), ("65535".into(), "5".into()));
    }
}
