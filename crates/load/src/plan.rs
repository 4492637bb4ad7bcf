//! What will be done, with everything checked.

use std::net::{Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use pitot_meter::Nanos;
use pitot_proto::client::{self, ClientOptions, ClientProtocol, Url};
use pitot_results::Failure;
use pitot_sys::limits;
use serde_json::{Value, json};

use crate::condition::Condition;
use crate::engine::{self, ENGINES, EngineEntry, Route, Sources};
use crate::fleet::{FleetPlan, ThreadPace};
use crate::options::Options;
use crate::pace::{self, PACES, Pace};
use crate::requests_file;
use crate::share::Share;
use crate::workload::{self, Group, Opening, Usage};

/// Descriptors that are not for connections: standard streams, the engine's own, pipes of several processes.
const DESCRIPTORS_RESERVED: u64 = 64;
/// How long a run lasts if nothing is said.
const DURATION: Nanos = Nanos::from_secs(10);
/// How long a storm may last if nothing is said.
const STORM_DURATION: Nanos = Nanos::from_secs(120);
const THREADS_MAX: u64 = 1024;
const PROCESSES_MAX: u64 = 256;

/// A checked run.
pub struct Plan {
    pub(crate) url: String,
    pub(crate) address: SocketAddr,
    pub(crate) protocol: Arc<dyn ClientProtocol>,
    pub(crate) groups: Vec<(&'static str, Group)>,
    pub(crate) pace_name: &'static str,
    pub(crate) pace: Pace,
    pub(crate) pipeline: u16,
    /// Threads of each process.
    pub(crate) threads: u64,
    pub(crate) processes: u64,
    pub(crate) cpus: Vec<usize>,
    pub(crate) duration: Option<Nanos>,
    pub(crate) requests: Option<u64>,
    pub(crate) warmup: Nanos,
    pub(crate) timeout: Nanos,
    pub(crate) engine: &'static EngineEntry,
    pub(crate) sources: Option<Sources>,
    pub(crate) seed: u64,
    pub(crate) abort_on: Vec<Condition>,
    pub(crate) fail_if: Vec<Condition>,
}

impl Plan {
    /// Checks the options. The target's name is resolved; nothing is sent to an address that needs no resolving.
    ///
    /// # Errors
    /// [`Failure`], with what is wrong and how to mend it.
    pub fn new(options: &Options) -> Result<Plan, Failure> {
        let (url, entry) = target(&options.url)?;
        let see_help = "see pitot load --help";
        let pace_entry = match &options.pace {
            Some(name) => {
                pace::find(name).ok_or_else(|| unknown("pace", name, PACES.iter().map(|p| p.name)))?
            }
            None => pace::implied(&options.pacing),
        };
        let pace = (pace_entry.build)(&options.pacing).map_err(|what| Failure::misuse(what, see_help))?;
        let engine = match &options.engine {
            Some(name) => {
                engine::find(name).ok_or_else(|| unknown("engine", name, ENGINES.iter().map(|e| e.name)))?
            }
            None => &ENGINES[0],
        };
        (engine.available)().map_err(|e| Failure::misuse(e.to_string(), e.cure.clone()))?;

        let protocol = |single_request| -> Result<Box<dyn ClientProtocol>, Failure> {
            let (requests, in_turn) = requests_file::specs(options, &url)?;
            let client_options = ClientOptions {
                requests,
                in_turn,
                headers: options.headers.iter().map(|h| header(h)).collect::<Result<_, _>>()?,
                expect_status: options.expect_status.as_deref().map_or(Ok(Vec::new()), statuses)?,
                expect_body: options.expect_body.as_deref().map(requests_file::read).transpose()?,
                verify: options.verify,
                single_request,
            };
            (entry.build)(&url, &client_options).map_err(|what| Failure::misuse(what, see_help))
        };
        let asked = options.workload.requests_per_connection;
        let built = protocol(asked == Some(1))?;
        let mut workload = options.workload.clone();
        workload.requests_per_connection = match (asked, built.requests_per_connection_max()) {
            (Some(asked), Some(most)) if asked > most => {
                return Err(Failure::misuse(
                    format!(
                        "{} carries at most {most} request per connection, and {asked} are asked for",
                        url.scheme
                    ),
                    "leave --requests-per-connection out",
                ));
            }
            (asked, most) => asked.or(most),
        };
        let groups = workload::groups(&workload).map_err(|what| Failure::misuse(what, see_help))?;
        let limit = workload.requests_per_connection.unwrap_or(u64::MAX);
        check_pipeline(options, &pace, limit)?;

        let storm = groups.iter().any(|(_, group)| group.lifecycle.opening == Opening::AtOnce);
        let active = groups.iter().any(|(_, group)| group.lifecycle.usage == Usage::Requests);
        let scheduled = match &pace {
            Pace::Open(open) => open.length(),
            Pace::Closed { .. } | Pace::Search(_) => None,
        };
        let duration = match (options.duration, options.requests) {
            (Some(Nanos::ZERO), _) => {
                return Err(Failure::misuse("the duration is zero", "give a longer -d"));
            }
            (Some(duration), _) => Some(duration),
            (None, _) if storm => Some(STORM_DURATION),
            (None, _) if scheduled.is_some() => scheduled.map(|length| length - options.warmup),
            (None, Some(_)) if active && !matches!(pace, Pace::Search(_)) => None,
            (None, _) => Some(DURATION),
        };
        if duration == Some(Nanos::ZERO) {
            return Err(Failure::misuse("the warm-up is as long as all stages together", "shorten --warmup"));
        }
        if options.requests == Some(0) {
            return Err(Failure::misuse("-n asks for no request", "ask for one at least, or leave -n out"));
        }
        if options.timeout == Nanos::ZERO {
            return Err(Failure::misuse("the time-out is zero", "give a longer --timeout"));
        }
        let total: u64 = groups.iter().map(|(_, group)| group.connections).sum();
        if total > u64::from(u32::MAX) / u64::from(options.pipeline) {
            return Err(Failure::misuse(
                format!("{total} connections are more than can be told apart"),
                "ask for fewer",
            ));
        }
        let processes = processes(options.processes, total)?;
        let threads = options.threads.unwrap_or(1);
        if !(1..=THREADS_MAX).contains(&threads) {
            return Err(Failure::misuse(
                format!("{threads} threads"),
                format!("-t takes 1 to {THREADS_MAX}"),
            ));
        }
        // A thread without a connection would have a share of the rate that nobody sends.
        let fewest = groups
            .iter()
            .filter(|(_, group)| group.lifecycle.usage == Usage::Requests)
            .map(|(_, group)| group.connections)
            .next()
            .unwrap_or(total);
        let processes = processes.min(fewest);
        let threads = threads.min(fewest / processes).max(1);
        let sources = options.source.as_deref().map(sources).transpose()?;
        let address = resolve(&url, entry.port, options.timeout)?;
        if sources.is_some() && address.is_ipv6() {
            return Err(Failure::misuse(
                "--source is for IPv4 and the target is IPv6",
                "name the target by its IPv4 address",
            ));
        }
        check_ports(total, sources)?;
        if !options.cpus.is_empty() {
            let allowed = pitot_sys::affinity::allowed().unwrap_or_default();
            if let Some(cpu) = options.cpus.iter().find(|cpu| !allowed.contains(cpu)) {
                return Err(Failure::misuse(
                    format!("CPU {cpu} may not be used"),
                    format!("--cpus may name {allowed:?}"),
                ));
            }
        }
        let conditions = |texts: &[String], flag: &str| -> Result<Vec<Condition>, Failure> {
            texts
                .iter()
                .map(|text| {
                    Condition::parse(text)
                        .map_err(|e| Failure::misuse(e.to_string(), format!("{flag} 'p99 > 5ms'")))
                })
                .collect()
        };
        Ok(Plan {
            url: options.url.clone(),
            address,
            protocol: built.into(),
            groups,
            pace_name: pace_entry.name,
            pace,
            pipeline: options.pipeline,
            threads,
            processes,
            cpus: options.cpus.clone(),
            duration,
            requests: options.requests,
            warmup: options.warmup,
            timeout: options.timeout,
            engine,
            sources,
            seed: options.seed,
            abort_on: conditions(&options.abort_on, "--abort-on")?,
            fail_if: conditions(&options.fail_if, "--fail-if")?,
        })
    }

    /// True if the run needs several processes, so that [`Respawn`](crate::Respawn) must be given.
    pub fn processes(&self) -> u64 {
        self.processes
    }

    /// How long the run takes at most, warm-up and measured part, where that is known.
    pub fn length(&self) -> Option<Nanos> {
        self.duration.map(|duration| self.warmup + duration)
    }

    /// True if all connections are opened at once and that is all.
    pub(crate) fn is_storm(&self) -> bool {
        self.groups.iter().any(|(_, group)| group.lifecycle.opening == Opening::AtOnce)
    }

    /// Connections that must be there before the run can start.
    pub(crate) fn opened_before_start(&self) -> u64 {
        let early = |group: &Group| group.lifecycle.opening == Opening::BeforeStart;
        self.groups.iter().filter(|(_, g)| early(g)).map(|(_, g)| g.connections).sum()
    }

    /// True if there are requests to be answered, other than those that keep idle connections alive.
    pub(crate) fn has_requests(&self) -> bool {
        self.groups.iter().any(|(_, group)| group.lifecycle.usage == Usage::Requests)
    }

    /// The share of one thread.
    pub(crate) fn fleet(&self, share: Share, pace: &Pace) -> FleetPlan {
        FleetPlan {
            protocol: Arc::clone(&self.protocol),
            groups: self.groups.iter().map(|(_, g)| (g.lifecycle, share.of(g.connections))).collect(),
            pace: match pace {
                Pace::Closed { think } => ThreadPace::Closed { think: *think },
                Pace::Open(open) => ThreadPace::Open(open.arrivals(share, self.seed)),
                // A search runs at one constant rate after the other, and this is none of them.
                Pace::Search(_) => ThreadPace::Closed { think: Nanos::ZERO },
            },
            pipeline: self.pipeline,
            timeout: self.timeout,
            requests: self.requests.map(|n| share.of(n)),
            warmup: self.warmup,
            duration: self.duration,
            share,
            seed: self.seed,
        }
    }

    /// The way of one thread's connections.
    pub(crate) fn route(&self, share: Share) -> Route {
        let start = |sources: Sources| Sources { next: share.index as u32, ..sources };
        Route { target: self.address, sources: self.sources.map(start) }
    }

    /// The options as they took effect, for the result.
    pub(crate) fn describe(&self) -> Value {
        let count = |usage: fn(&Usage) -> bool| -> u64 {
            self.groups.iter().filter(|(_, g)| usage(&g.lifecycle.usage)).map(|(_, g)| g.connections).sum()
        };
        json!({
            "workload": self.groups.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            "connections": self.groups.iter().map(|(_, g)| g.connections).sum::<u64>(),
            "idle": count(|usage| matches!(usage, Usage::Silence { .. })),
            "requests_per_connection": self.groups.iter().map(|(_, g)| g.lifecycle.requests_max).find(|&n| n != u64::MAX),
            "churn_per_s": self.groups.iter().map(|(_, g)| g.lifecycle.churn_rate).find(|&r| r > 0.0),
            "pace": self.pace_name,
            "pipeline": self.pipeline,
            "threads": self.threads,
            "processes": self.processes,
            "cpus": self.cpus,
            "duration_s": self.duration.map(Nanos::as_secs_f64),
            "requests": self.requests,
            "warmup_s": self.warmup.as_secs_f64(),
            "timeout_s": self.timeout.as_secs_f64(),
            "engine": self.engine.name,
            "address": self.address.to_string(),
            "seed": self.seed,
        })
    }
}

/// The line that tells of an unknown name.
fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Failure {
    let known: Vec<&str> = known.collect();
    Failure::misuse(format!("there is no {what} `{name}`"), format!("choose one of {}", known.join(", ")))
}

fn target(word: &str) -> Result<(Url, &'static client::ClientEntry), Failure> {
    let example = || format!("write it like {}", client::CLIENTS[0].example);
    let url =
        Url::parse(word).map_err(|e| Failure::misuse(format!("`{word}` is not a target: {e}"), example()))?;
    let entry = client::find(&url.scheme).ok_or_else(|| {
        let known: Vec<String> = client::CLIENTS.iter().map(|c| format!("{}://", c.scheme)).collect();
        Failure::misuse(
            format!("the scheme `{}://` is not spoken here", url.scheme),
            format!("choose one of {}", known.join(", ")),
        )
    })?;
    if url.port.or(entry.port).is_none() {
        return Err(Failure::misuse(
            format!("`{word}` names no port, and {} has no usual one", entry.scheme),
            format!("write it like {}", entry.example),
        ));
    }
    Ok((url, entry))
}

/// The first address of the host that can be reached; if there is only one it is not tried.
fn resolve(url: &Url, port: Option<u16>, timeout: Nanos) -> Result<SocketAddr, Failure> {
    let port = url.port.or(port).unwrap_or_default();
    let cure = "check the name, or write the address";
    let addresses: Vec<SocketAddr> = (url.host.as_str(), port)
        .to_socket_addrs()
        .map_err(|e| Failure::misuse(format!("the host `{}` cannot be resolved: {e}", url.host), cure))?
        .collect();
    match addresses.as_slice() {
        [] => Err(Failure::misuse(format!("the host `{}` has no address", url.host), cure)),
        [only] => Ok(*only),
        several => {
            let patience = Duration::from(timeout).min(Duration::from_secs(1));
            let reached = several.iter().find(|a| TcpStream::connect_timeout(a, patience).is_ok());
            Ok(*reached.unwrap_or(&several[0]))
        }
    }
}

fn header(text: &str) -> Result<(String, String), Failure> {
    let (name, value) = text.split_once(':').ok_or_else(|| {
        Failure::misuse(format!("`{text}` is not a header"), "write it as -H 'Name: value'")
    })?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// `200,301`, `2xx`, `200-299`.
fn statuses(text: &str) -> Result<Vec<RangeInclusive<u16>>, Failure> {
    let bad = |word: &str| {
        Failure::misuse(
            format!("`{word}` is not a status"),
            "write --expect-status 200,204 or 2xx or 200-299",
        )
    };
    let number = |word: &str| word.parse().ok().filter(|s| (100..1000).contains(s)).ok_or_else(|| bad(word));
    text.split(',')
        .map(|word| match (word.strip_suffix("xx"), word.split_once('-')) {
            (Some(class), _) => match class.parse::<u16>() {
                Ok(class @ 1..=9) => Ok(class * 100..=class * 100 + 99),
                _ => Err(bad(word)),
            },
            (None, Some((from, to))) => Ok(number(from)?..=number(to)?),
            (None, None) => number(word).map(|s| s..=s),
        })
        .collect()
}

fn check_pipeline(options: &Options, pace: &Pace, requests_per_connection: u64) -> Result<(), Failure> {
    let cure = "leave --pipeline out";
    if options.pipeline == 0 || options.pipeline > 1024 {
        return Err(Failure::misuse(
            format!("a pipeline of {}", options.pipeline),
            "--pipeline takes 1 to 1024",
        ));
    }
    if options.pipeline > 1 && matches!(pace, Pace::Closed { think } if *think > Nanos::ZERO) {
        return Err(Failure::misuse(
            "--think pauses after each reply, which leaves nothing to pipeline",
            cure,
        ));
    }
    if u64::from(options.pipeline) > requests_per_connection {
        let what = format!(
            "{} requests are to be under way on a connection that carries {requests_per_connection}",
            options.pipeline
        );
        return Err(Failure::misuse(what, cure));
    }
    Ok(())
}

/// How many processes hold so many connections.
fn processes(asked: Option<u64>, connections: u64) -> Result<u64, Failure> {
    let limit = limits::raise_descriptors().unwrap_or_else(|_| limits::descriptors());
    let each = limit.saturating_sub(DESCRIPTORS_RESERVED).max(1);
    let needed = connections.div_ceil(each).max(1);
    match asked {
        Some(n) if !(1..=PROCESSES_MAX).contains(&n) => Err(Failure::misuse(
            format!("{n} processes"),
            format!("--processes takes auto or 1 to {PROCESSES_MAX}"),
        )),
        Some(n) if n < needed => Err(Failure::misuse(
            format!("{connections} connections do not fit in {n} process(es) with {limit} descriptors each"),
            format!("use --processes auto or at least {needed}, or raise the limit with ulimit -n"),
        )),
        None if needed > PROCESSES_MAX => Err(Failure::misuse(
            format!("{connections} connections need {needed} processes with {limit} descriptors each"),
            "raise the limit with ulimit -n, or ask for fewer connections",
        )),
        asked => Ok(asked.unwrap_or(needed)),
    }
}

/// `127.0.0.0/28`, or one address.
fn sources(text: &str) -> Result<Sources, Failure> {
    let bad =
        || Failure::misuse(format!("`{text}` is not a range of addresses"), "write --source 127.0.0.0/28");
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => {
            (address, bits.parse::<u32>().ok().filter(|b| (8..=32).contains(b)).ok_or_else(bad)?)
        }
        None => (text, 32),
    };
    let first: Ipv4Addr = address.parse().map_err(|_| bad())?;
    let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
    let mut base = u32::from(first) & mask;
    let mut count = 1u32.checked_shl(32 - bits).unwrap_or(u32::MAX);
    // The first and the last address of a network are not for hosts; on the loopback network the last is.
    if count > 2 {
        base += 1;
        count -= 2;
    }
    Ok(Sources { first: Ipv4Addr::from(base), count, next: 0 })
}

/// The kernel gives a connection a port from a range, and none twice to one destination.
fn check_ports(connections: u64, sources: Option<Sources>) -> Result<(), Failure> {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut bounds = range.split_ascii_whitespace().filter_map(|word| word.parse::<u64>().ok());
    let (Some(low), Some(high)) = (bounds.next(), bounds.next()) else { return Ok(()) };
    let ports = (high + 1).saturating_sub(low);
    let addresses = sources.map_or(1, |s| u64::from(s.count));
    if connections <= ports * addresses {
        return Ok(());
    }
    Err(Failure::misuse(
        format!(
            "{connections} connections need more local ports than the {ports} of each of {addresses} address(es)"
        ),
        format!(
            "connect from more addresses, on loopback with --source 127.0.0.0/{}",
            32 - (connections.div_ceil(ports) + 2).next_power_of_two().ilog2()
        ),
    ))
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Plan({} {})", self.url, self.describe())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut Options)) -> String {
        let mut options = Options::new("http://127.0.0.1:1/");
        change(&mut options);
        let misuse = Plan::new(&options).unwrap_err();
        assert!(!misuse.cure.is_empty());
        let text = misuse.to_string();
        assert!(!text.contains('\n'), "{text}");
        text
    }

    #[test]
    fn every_wrong_use_has_one_line_and_a_cure() {
        for (url, word) in [
            ("127.0.0.1:80", "scheme"),
            ("ftp://h", "ftp://"),
            ("blob://127.0.0.1/5", "port"),
            ("blob://127.0.0.1:1/x", "bytes"),
            ("busy://127.0.0.1:1/x", "nothing to ask"),
            ("http://host.invalid/", "resolved"),
        ] {
            assert!(refused(|o| o.url = url.into()).contains(word), "{url}");
        }
        assert!(refused(|o| o.pace = Some("slow".into())).contains("slow"));
        assert!(refused(|o| o.pace = Some("constant".into())).contains("rate"));
        assert!(refused(|o| o.engine = Some("kqueue".into())).contains("kqueue"));
        assert!(refused(|o| o.workload.connections = 0).contains("no connection"));
        assert!(refused(|o| o.pacing.rate = Some(0.0)).contains("above 0"));
        assert!(refused(|o| o.headers = vec!["x".into()]).contains("header"));
        assert!(refused(|o| o.expect_status = Some("ok".into())).contains("status"));
        assert!(refused(|o| o.source = Some("::1".into())).contains("range"));
        assert!(refused(|o| o.pipeline = 0).contains("pipeline"));
        assert!(refused(|o| o.requests = Some(0)).contains("-n"));
        assert!(refused(|o| o.duration = Some(Nanos::ZERO)).contains("duration"));
        assert!(refused(|o| o.timeout = Nanos::ZERO).contains("time-out"));
        assert!(refused(|o| o.fail_if = vec!["p99".into()]).contains("p99"));
        assert!(refused(|o| o.cpus = vec![9999]).contains("9999"));
        assert!(refused(|o| o.threads = Some(0)).contains("threads"));
        assert!(refused(|o| o.workload.connections = 2_000_000).contains("connections"));
        assert!(refused(|o| o.verify = true).contains("verified"));
        assert!(refused(|o| o.body = Some("@/nonexistent".into())).contains("/nonexistent"));
    }

    #[test]
    fn more_connections_than_descriptors_make_more_processes() {
        let limit = limits::raise_descriptors().unwrap();
        assert_eq!(processes(None, 10).unwrap(), 1);
        assert_eq!(processes(None, limit * 2).unwrap(), 3);
        assert!(processes(Some(1), limit).is_err());
    }

    #[test]
    fn too_few_ports_are_told_before_the_run() {
        let cure = check_ports(10_000_000, None).unwrap_err().cure;
        let advised = cure.split_ascii_whitespace().last().unwrap();
        assert!(check_ports(10_000_000, Some(sources(advised).unwrap())).is_ok(), "{cure}");
    }

    #[test]
    fn ranges_of_addresses() {
        let range = |text| sources(text).map(|s| (s.first.to_string(), s.count));
        assert_eq!(range("127.0.0.0/28"), Ok(("127.0.0.1".into(), 14)));
        assert_eq!(range("127.0.0.77/28"), Ok(("127.0.0.65".into(), 14)));
        assert_eq!(range("10.1.2.3"), Ok(("10.1.2.3".into(), 1)));
        assert!(range("10.1.2.3/33").is_err() && range("localhost").is_err());
    }

    #[test]
    fn no_thread_is_without_a_connection() {
        let mut options = Options::new("http://127.0.0.1:1/");
        options.threads = Some(8);
        options.workload.connections = 3;
        assert_eq!(Plan::new(&options).unwrap().threads, 3);
    }

    #[test]
    fn a_run_without_an_end_gets_one() {
        let mut options = Options::new("http://127.0.0.1:1/");
        assert_eq!(Plan::new(&options).unwrap().duration, Some(DURATION));
        options.requests = Some(5);
        assert_eq!(Plan::new(&options).unwrap().duration, None);
        options.pacing.stages = Some("0:10:3s".into());
        options.warmup = Nanos::from_secs(1);
        assert_eq!(Plan::new(&options).unwrap().duration, Some(Nanos::from_secs(2)));
    }

    #[test]
    fn expected_statuses() {
        assert_eq!(statuses("200,3xx,500-503").unwrap(), [200..=200, 300..=399, 500..=503]);
        for bad in ["", "0xx", "99", "2xx,", "200-x"] {
            assert!(statuses(bad).is_err(), "{bad}");
        }
    }
}
