//! Whether a measurement can be trusted. The words mean the same in `pitot load` and in the lab.

use serde::{Deserialize, Serialize};

/// More arrivals than this share of those due were missed: rate-missed.
pub const MISSED_SHARE_MAX: f64 = 0.01;
/// More segments sent again for each request or connection: network-bound.
pub const RETRANSMIT_SHARE_MAX: f64 = 0.01;

/// A load generator that used more than this share of the time is at its limit: it has no time left in which it could be
/// late unnoticed. What counts is the busiest of its threads, since another one's spare time does not help it, and all of
/// them together where they have fewer CPUs.
pub const CLIENT_BUSY_SHARE_MAX: f64 = 0.95;

/// Whether the load generator was at its limit, which makes a measurement client-bound unless the server was at its own.
pub fn is_client_at_limit(busy_share: f64) -> bool {
    busy_share > CLIENT_BUSY_SHARE_MAX
}

/// Whether a measurement can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKind {
    /// The figures are those of the server.
    #[default]
    Valid,
    /// The load generator was the bottleneck ([`is_client_at_limit`]), or was late: the server could do more. `pitot load`
    /// sees only itself; the lab sees the server too, and does not say so if that is at its own limit.
    ClientBound,
    /// The network was the bottleneck: segments were lost.
    NetworkBound,
    /// The rate that was asked for was not reached: arrivals were missed.
    RateMissed,
    /// Something else used the CPUs, or the hypervisor took them away. `pitot load` sees it of its own threads only, and does not
    /// see who it was.
    Noisy,
    /// There is nothing to judge: a program died, hung or answered nothing right.
    Failed,
}

impl VerdictKind {
    /// All of them, from the best to the worst.
    pub const ALL: [VerdictKind; 6] = [
        VerdictKind::Valid,
        VerdictKind::ClientBound,
        VerdictKind::NetworkBound,
        VerdictKind::RateMissed,
        VerdictKind::Noisy,
        VerdictKind::Failed,
    ];

    /// Its word in results and reports.
    pub const fn name(self) -> &'static str {
        match self {
            VerdictKind::Valid => "valid",
            VerdictKind::ClientBound => "client-bound",
            VerdictKind::NetworkBound => "network-bound",
            VerdictKind::RateMissed => "rate-missed",
            VerdictKind::Noisy => "noisy",
            VerdictKind::Failed => "failed",
        }
    }

    /// What it says, in a sentence.
    pub const fn meaning(self) -> &'static str {
        match self {
            VerdictKind::Valid => "The figures describe the server.",
            VerdictKind::ClientBound => {
                "The load generator was the bottleneck: its busiest thread, or all of them together, used more than 95% of \
                 their CPU time while the server had CPU time left. The server could do more."
            }
            VerdictKind::NetworkBound => {
                "Something between server and load generator was the bottleneck: segments were sent again, or, in a closed \
                 loop, neither side was busy and at least 75% of the connections had a reply on its way."
            }
            VerdictKind::RateMissed => {
                "More than 1% of the requests that were due could not be sent. The figures show an overload, and no \
                 percentile includes the requests that were not sent."
            }
            VerdictKind::Noisy => {
                "Something else took the CPUs: other processes, the hypervisor (steal time), or throttling. Repeat the run on \
                 a quieter machine."
            }
            VerdictKind::Failed => {
                "The server or the load generator crashed, hung or gave no valid reply. The end of its output says why."
            }
        }
    }

    /// The verdict with that word.
    pub fn from_name(name: &str) -> Option<VerdictKind> {
        VerdictKind::ALL.into_iter().find(|verdict| verdict.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_is_the_same_in_json_and_in_reports() {
        for verdict in VerdictKind::ALL {
            assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.name());
            assert_eq!(VerdictKind::from_name(verdict.name()), Some(verdict));
        }
        assert_eq!(VerdictKind::from_name("fine"), None);
    }
}
