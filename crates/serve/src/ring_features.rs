//! What the mechanism `uring` uses of io_uring(7), as data.
//!
//! Each feature is an entry in [`RING_FEATURES`]; a plan can vary them, so that a run shows what each is worth.

use std::time::Duration;

use pitot_meter::units;
use pitot_results::Failure;
use pitot_sys::Unavailable;
use pitot_sys::ring::{Offered, Options, probe};

use crate::failure::unavailable;

/// Limit on direct descriptors, which are used for connections that the ring accepts itself. Below it there are as
/// many as the process may have ordinary descriptors.
const DIRECT_MAX: u32 = 65_536;
/// The longest time that completions are gathered or queues are polled: a client would notice more.
const WAIT_MAX: Duration = Duration::from_millis(100);

/// The word for none of them.
const NONE: &str = "none";

/// A feature of io_uring.
#[derive(Debug)]
pub struct RingFeature {
    /// The name on the command line and in reports.
    pub name: &'static str,
    /// What stands behind `NAME=`, if it has a value.
    pub value: Option<&'static str>,
    /// One line for lists.
    pub summary: &'static str,
    /// Whether it is used if nothing is said.
    pub is_usual: bool,
    /// Turns it on.
    set: fn(&mut Options, &str) -> Result<(), String>,
    /// What it needs of the kernel, beyond what every ring does.
    needs: Option<Need>,
}

#[derive(Debug)]
struct Need {
    is_offered: fn(&Offered) -> bool,
    since: &'static str,
    /// Whether options cannot do without it.
    is_asked: fn(&Options) -> bool,
}

impl RingFeature {
    /// Checks whether the running kernel has it.
    ///
    /// # Errors
    /// What is missing, and how to get it.
    pub fn probe(&self) -> Result<(), Unavailable> {
        let offered = probe()?;
        match &self.needs {
            Some(Need { is_offered, since, .. }) if !is_offered(&offered) => Err(Unavailable {
                what: format!("--ring {}", self.name),
                cause: format!("this kernel's io_uring does not have it (since {since})"),
                fix: format!("use {since} or later, or omit it"),
            }),
            _ => Ok(()),
        }
    }
}

/// All features, in the order in which they are most often added.
pub static RING_FEATURES: &[RingFeature] = &[
    RingFeature {
        name: "deferred",
        value: None,
        summary: "complete operations when the thread asks for completions, instead of interrupting it (SINGLE_ISSUER, \
                  DEFER_TASKRUN)",
        is_usual: true,
        set: |options, _| {
            options.deferred = true;
            Ok(())
        },
        // Without it the kernel runs completions when the thread calls it next (COOP_TASKRUN).
        needs: Some(Need { is_offered: |offered| offered.deferred, since: "Linux 6.1", is_asked: |_| false }),
    },
    RingFeature {
        name: "multishot",
        value: None,
        summary: "one accept for all connections, and one receive for all requests of a connection",
        is_usual: true,
        set: |options, _| {
            options.multishot = true;
            Ok(())
        },
        needs: None,
    },
    RingFeature {
        name: "direct",
        value: None,
        summary: "connections have no descriptors of the process, but slots of the ring",
        is_usual: true,
        set: |options, _| {
            options.direct = DIRECT_MAX;
            Ok(())
        },
        needs: None,
    },
    RingFeature {
        name: "zero-copy",
        value: Some("SIZE"),
        summary: "send replies of this size or more from where they are (SEND_ZC, SENDMSG_ZC); over loopback the kernel copies them all \
                  the same",
        is_usual: false,
        set: |options, text| {
            let size = units::size(text).map_err(|e| e.to_string())?;
            options.zero_copy_min = Some(u32::try_from(size).map_err(|_| "a size is below 4 GiB")?);
            Ok(())
        },
        needs: None,
    },
    RingFeature {
        name: "bundles",
        value: None,
        summary: "one receive fills as many buffers as there are bytes for, and reports them at once (RECVSEND_BUNDLE): for requests \
                  with a body",
        is_usual: true,
        set: |options, _| {
            options.bundles = true;
            Ok(())
        },
        // Without it a receive fills one buffer.
        needs: Some(Need { is_offered: |offered| offered.bundles, since: "Linux 6.10", is_asked: |_| false }),
    },
    RingFeature {
        name: "busy-poll",
        value: Some("TIME"),
        summary: "a wait polls the queues of the network cards for this time before it sleeps (REGISTER_NAPI); loopback has none",
        is_usual: false,
        set: |options, text| {
            options.busy_poll = short_time(text)?;
            Ok(())
        },
        needs: Some(Need {
            is_offered: |offered| offered.busy_poll,
            since: "Linux 6.9 with CONFIG_NET_RX_BUSY_POLL",
            is_asked: |options| !options.busy_poll.is_zero(),
        }),
    },
    RingFeature {
        name: "gather",
        value: Some("TIME"),
        summary: "a wait that has a completion goes on for this time to collect more: fewer waits, and each reply up to this much later",
        is_usual: false,
        set: |options, text| {
            options.gather = short_time(text)?;
            Ok(())
        },
        needs: Some(Need {
            is_offered: |offered| offered.gather,
            since: "Linux 6.12",
            is_asked: |options| !options.gather.is_zero(),
        }),
    },
    RingFeature {
        name: "entries",
        value: Some("N"),
        summary: "operations that fit into the queue before they must be handed to the kernel, a power of two [default: 512]",
        is_usual: false,
        set: |options, text| {
            options.submissions = power_of_two(text, 32_768)?;
            Ok(())
        },
        needs: None,
    },
    RingFeature {
        name: "buffers",
        value: Some("N"),
        summary: "buffers of 4 KiB that all receives share, a power of two [default: 256]",
        is_usual: false,
        set: |options, text| {
            options.buffers = power_of_two(text, 32_768)? as u16;
            Ok(())
        },
        needs: None,
    },
];

fn short_time(text: &str) -> Result<Duration, String> {
    let time = Duration::from(units::duration(text).map_err(|e| e.to_string())?);
    match (Duration::from_micros(1)..=WAIT_MAX).contains(&time) {
        true => Ok(time),
        false => Err("from 1us to 100ms".into()),
    }
}

fn power_of_two(text: &str, max: u32) -> Result<u32, String> {
    let number = text.parse().ok().filter(|n: &u32| n.is_power_of_two() && *n <= max);
    number.ok_or_else(|| format!("a power of two up to {max}"))
}

/// The features that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingFeatures(Options);

impl Default for RingFeatures {
    fn default() -> RingFeatures {
        let usual = RING_FEATURES.iter().filter(|feature| feature.is_usual);
        usual.fold(RingFeatures::none(), |mut used, feature| {
            // A feature without a value is always turned on.
            let _ = (feature.set)(&mut used.0, "");
            used
        })
    }
}

impl RingFeatures {
    fn none() -> RingFeatures {
        RingFeatures(Options {
            deferred: false,
            multishot: false,
            bundles: false,
            direct: 0,
            ..Options::default()
        })
    }

    /// Reads `NAME,NAME=VALUE`, or `none`.
    ///
    /// # Errors
    /// An unknown name, a value that is missing, wrong or not taken.
    pub fn parse(text: &str) -> Result<RingFeatures, String> {
        let mut used = RingFeatures::none();
        if text == NONE {
            return Ok(used);
        }
        for part in text.split(',') {
            let (name, value) =
                part.split_once('=').map_or((part, None), |(name, value)| (name, Some(value)));
            let feature = RING_FEATURES.iter().find(|feature| feature.name == name).ok_or_else(|| {
                format!(
                    "there is no feature `{name}`; `pitot list ring-features` shows all, and `{NONE}` is none"
                )
            })?;
            match (feature.value, value) {
                (Some(what), None) => return Err(format!("{name} takes a value: {name}={what}")),
                (None, Some(_)) => return Err(format!("{name} takes no value")),
                _ => (feature.set)(&mut used.0, value.unwrap_or_default())
                    .map_err(|why| format!("{name}: {why}"))?,
            }
        }
        Ok(used)
    }

    /// For a ring of this process, which has taken its limits by now.
    pub(crate) fn options(&self) -> Options {
        let descriptors = u32::try_from(pitot_sys::limits::descriptors()).unwrap_or(u32::MAX);
        Options { direct: self.0.direct.min(descriptors), ..self.0 }
    }

    /// Whether connections are slots of the ring.
    pub(crate) fn has_direct(&self) -> bool {
        self.0.direct > 0
    }

    /// Whether a send may have its bytes where they are.
    pub(crate) fn has_zero_copy(&self) -> bool {
        self.0.zero_copy_min.is_some()
    }

    /// Checks whether the running kernel has what cannot be done without.
    ///
    /// # Errors
    /// What is missing, and how to get it.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let is_asked =
            |feature: &&RingFeature| feature.needs.as_ref().is_some_and(|need| (need.is_asked)(&self.0));
        RING_FEATURES.iter().filter(is_asked).try_for_each(RingFeature::probe).map_err(unavailable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_read_and_wrong_ones_are_refused() {
        let usual = RingFeatures::default();
        assert_eq!(RingFeatures::parse("multishot,direct,bundles,deferred").unwrap(), usual);
        assert!(usual.0.direct > 0 && usual.0.multishot && usual.0.bundles && usual.0.deferred);
        assert!(!usual.has_zero_copy());
        let none = RingFeatures::parse("none").unwrap();
        assert!(none.0.direct == 0 && !none.0.multishot && !none.0.deferred);
        let some =
            RingFeatures::parse("zero-copy=16KiB,gather=50us,entries=64,buffers=1024,bundles,busy-poll=20us")
                .unwrap();
        assert!(some.0.bundles && some.0.busy_poll == Duration::from_micros(20));
        assert_eq!((some.0.zero_copy_min, some.0.gather), (Some(16 << 10), Duration::from_micros(50)));
        assert_eq!((some.0.submissions, some.0.buffers, some.0.multishot), (64, 1024, false));
        for (wrong, why) in [
            ("", "no feature ``"),
            ("fast", "no feature `fast`"),
            ("zero-copy", "zero-copy takes a value: zero-copy=SIZE"),
            ("direct=1", "takes no value"),
            ("gather=2s", "from 1us to 100ms"),
            ("gather=0us", "from 1us to 100ms"),
            ("busy-poll=1s", "from 1us to 100ms"),
            ("bundles=2", "takes no value"),
            ("entries=100", "a power of two"),
            ("zero-copy=8GiB", "below 4 GiB"),
            ("none,direct", "no feature `none`"),
        ] {
            let refused = RingFeatures::parse(wrong).unwrap_err();
            assert!(refused.contains(why), "{wrong}: {refused}");
        }
    }
}
