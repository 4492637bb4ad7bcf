//! What will be done, checked as far as the options alone allow: no name is resolved, no limit of the machine is read
//! or changed, and only the files that the options name are read. [`LoadPlan::prepare`] does the rest.

use std::sync::Arc;

use pitot_client::{ClientProtocol, HttpVersion, Url};
use pitot_meter::Nanos;

use crate::conditions::Conditions;
use crate::http_version;
use crate::options::Options;
use crate::parts;
use crate::protocol::{self, Built};
use crate::reach::Reach;
use pitot_drive::connections::{SessionPlan, ThreadPace, ThreadPlan};
use pitot_drive::engine::{self, ENGINES, EngineEntry, Sources};
use pitot_drive::growth::Growth;
use pitot_drive::pace::{self, PACES, Pace, PaceEntry, PaceOptions};
use pitot_drive::share::Share;
use pitot_drive::steps;
use pitot_drive::think::ThinkTimes;
use pitot_drive::workload::{self, ConnectAt, Group};
use pitot_durability::Acknowledged;
use pitot_requests::content;
use pitot_results::Failure;
use pitot_results::secrets::mask;
use serde_json::Value;

/// The length of a run whose options do not limit it.
const DURATION: Nanos = Nanos::from_secs(10);
/// The most time that a storm takes if the options do not limit it.
const STORM_DURATION: Nanos = Nanos::from_secs(120);
const PIPELINE_MAX: u16 = 1024;
const THREADS_MAX: u64 = 1024;
pub(crate) const PROCESSES_MAX: u64 = 256;
const SEE_HELP: &str = "see pitot load --help";

/// A checked run.
pub struct LoadPlan {
    /// The target as it was given.
    pub(crate) target: String,
    pub(crate) url: Url,
    pub(crate) reach: Reach,
    /// What is asked of the server, for the result.
    pub(crate) asked: Value,
    /// What a server keeps of each request, if these have names of their own; nothing is acknowledged yet.
    pub(crate) durability: Option<Acknowledged>,
    /// The port of the URL, or its scheme's default.
    pub(crate) port: u16,
    /// There is TLS.
    pub(crate) is_tls: bool,
    pub(crate) protocol: Arc<dyn ClientProtocol>,
    /// The sessions, if the requests are steps of such.
    pub(crate) sessions: Option<SessionPlan>,
    /// Where the requests come from, for the result; null if the command line names them.
    pub(crate) requests_from: Value,
    /// They come from standard input, which can be read once only.
    pub(crate) requests_from_stdin: bool,
    pub(crate) groups: Vec<(&'static str, Group)>,
    /// Users come and go.
    pub(crate) growth: Option<Arc<Growth>>,
    pub(crate) pace_name: &'static str,
    pub(crate) pace: Pace,
    /// Requests under way on a connection: those of a pipeline, or streams.
    pub(crate) pipeline: u16,
    /// None if the protocol is another one.
    pub(crate) http: Option<HttpVersion>,
    /// Threads of each process as asked for, or of all where their number follows from the limit on descriptors.
    pub(crate) threads: u64,
    /// Processes as asked for; `None` is as many as the limit on descriptors makes necessary.
    pub(crate) processes: Option<u64>,
    pub(crate) cpus: Vec<usize>,
    pub(crate) duration: Option<Nanos>,
    pub(crate) requests: Option<u64>,
    pub(crate) warmup: Nanos,
    pub(crate) timeout: Nanos,
    /// The longest pause before a connection that failed is opened again.
    pub(crate) back_off_max: Nanos,
    pub(crate) engine: &'static EngineEntry,
    pub(crate) sources: Option<Sources>,
    /// Each user has a source address of its own.
    pub(crate) source_per_user: bool,
    pub(crate) think_times: ThinkTimes,
    pub(crate) seed: u64,
    pub(crate) conditions: Conditions,
    /// Right replies and errors are counted in steps of this length too.
    pub(crate) step: Option<Nanos>,
    /// The part of all this that is this run's own.
    pub(crate) share: Share,
}

impl LoadPlan {
    /// Checks the options.
    ///
    /// # Errors
    /// [`Failure`], with what is wrong and how to fix it.
    pub fn new(options: &Options) -> Result<LoadPlan, Failure> {
        let target = protocol::target(&options.url)?;
        let client = target.client;
        let engine = named_engine(options)?;
        let Built { protocol, requests_from, asked, durability, recorded, sessions, count, is_tls } =
            protocol::build(options, &target)?;
        let options = &Options { requests: options.requests.or(count), ..options.clone() };
        let pacing = PaceOptions { recorded, ..options.pacing.clone() };
        let pace_entry = named_pace(options.pace.as_deref(), &pacing)?;
        let pace = pace_entry.pace(&pacing).map_err(|what| Failure::misuse(what, SEE_HELP))?;
        let requests_per_connection =
            requests_per_connection(options, client.scheme, client.requests_per_connection_max)?;
        let browser = http_version::browser_connections(options)?;
        let workload =
            workload::WorkloadOptions { requests_per_connection, browser, ..options.workload.clone() };
        let growth = growth(options, &pace)?;
        let groups = workload::groups(&workload).map_err(|what| Failure::misuse(what, SEE_HELP))?;
        check_pipeline(options, &pace, requests_per_connection.unwrap_or(u64::MAX))?;
        check_limits(options, &groups)?;
        if let Some(sessions) = &sessions {
            check_sessions(options, sessions)?;
        }
        parts::check(options, &pace, sessions.is_some())?;
        let thinks = sessions.is_some() || matches!(pace, Pace::Closed { think } if think > Nanos::ZERO);
        if options.think_times != ThinkTimes::Constant && !thinks {
            return Err(Failure::misuse("--think-times needs think times", "add --think, or remove it"));
        }
        let conditions = Conditions::new(options, &pace, is_tls, client.has_statuses)?;
        Ok(LoadPlan {
            asked,
            durability,
            reach: Reach::new(&options.reach, &target.url, target.port)?,
            target: match options.keep_secrets {
                true => Url::without_user_info(&options.url),
                false => mask(&Url::without_user_info(&options.url)).into_owned(),
            },
            port: target.port,
            is_tls,
            url: target.url,
            protocol: protocol.into(),
            requests_from,
            pipeline: sessions
                .as_ref()
                .map_or(http_version::under_way(options), |sessions| sessions.info.burst_max),
            sessions,
            requests_from_stdin: [&options.requests_file, &options.replay]
                .into_iter()
                .flatten()
                .any(|file| content::is_stdin(file)),
            duration: duration(options, &groups, &pace, growth.as_ref())?,
            groups,
            growth: growth.map(Arc::new),
            pace_name: pace_entry.name,
            pace,
            http: http_version::of(options, client).map(|version| client.has_methods.then_some(version))?,
            threads: options.threads.unwrap_or(1),
            processes: options.processes,
            cpus: options.cpus.clone(),
            requests: options.requests,
            warmup: options.warmup,
            timeout: options.timeout,
            back_off_max: options.back_off_max,
            engine,
            sources: options.source.as_deref().map(sources).transpose()?,
            source_per_user: options.source_per_user,
            think_times: options.think_times,
            seed: options.seed,
            conditions,
            step: steps::check(options.step)?,
            share: options.share,
        })
    }

    /// How long the run takes at most, warm-up and measured part, where that is known.
    pub(crate) fn length(&self) -> Option<Nanos> {
        self.duration.map(|duration| self.warmup + duration)
    }

    /// Connections of all groups together, of all parts of the load.
    pub(crate) fn connections_of_all(&self) -> u64 {
        self.groups.iter().map(|(_, group)| group.connections).sum()
    }

    /// Connections of all groups together.
    pub(crate) fn connections(&self) -> u64 {
        self.groups.iter().map(|(_, group)| group.part(self.share)).sum()
    }

    /// Streams in use at once on a connection of HTTP/2.
    pub(crate) fn streams(&self) -> Option<u16> {
        (self.http == Some(HttpVersion::Http2)).then_some(self.pipeline)
    }

    /// Whether all connections are opened at once and that is all.
    pub(crate) fn is_storm(&self) -> bool {
        is_storm(&self.groups)
    }

    /// Connections that must be open before the run can start.
    pub(crate) fn opened_before_start(&self) -> u64 {
        let early = |group: &Group| group.lifecycle.connect_at == ConnectAt::BeforeStart;
        self.groups.iter().filter(|(_, g)| early(g)).map(|(_, g)| g.part(self.share)).sum()
    }

    /// Whether there are requests to be answered, other than those that keep idle connections alive.
    pub(crate) fn has_requests(&self) -> bool {
        self.active().is_some()
    }

    /// The connections that send requests.
    pub(crate) fn active(&self) -> Option<&Group> {
        active(&self.groups)
    }

    /// On how many CPUs its threads may run.
    pub(crate) fn usable_cpus(&self) -> usize {
        let mut cpus = self.cpus.clone();
        cpus.sort_unstable();
        cpus.dedup();
        match cpus.len() {
            0 => pitot_sys::affinity::allowed().map_or(usize::MAX, |cpus| cpus.len()),
            some => some,
        }
    }

    /// The share of one thread, at a pace that need not be the plan's own: a search runs at one after the other.
    pub(crate) fn thread(&self, share: Share, pace: &Pace) -> ThreadPlan {
        ThreadPlan {
            protocol: Arc::clone(&self.protocol),
            groups: self.groups.iter().map(|(_, g)| (g.lifecycle, g.part(share))).collect(),
            pace: match pace {
                Pace::Closed { think } => ThreadPace::Closed { think: *think },
                Pace::Open(open) => ThreadPace::Open(open.arrivals(share, self.seed)),
                // A search runs at one constant rate after the other, and this is none of them.
                Pace::Search(_) => ThreadPace::Closed { think: Nanos::ZERO },
            },
            pipeline: self.pipeline,
            sessions: self.sessions.clone(),
            timeout: self.timeout,
            back_off_max: self.back_off_max,
            requests: self.requests.map(|n| share.of(n)),
            warmup: self.warmup,
            duration: self.duration,
            share,
            growth: self.growth.clone(),
            think_times: self.think_times,
            seed: self.seed,
        }
    }
}

fn is_storm(groups: &[(&'static str, Group)]) -> bool {
    groups.iter().any(|(_, group)| group.lifecycle.connect_at == ConnectAt::Start)
}

fn active<'a>(groups: &'a [(&'static str, Group)]) -> Option<&'a Group> {
    groups.iter().map(|(_, group)| group).find(|group| group.lifecycle.usage.is_active())
}

fn named_pace(name: Option<&str>, pacing: &PaceOptions) -> Result<&'static PaceEntry, Failure> {
    match name {
        Some(name) => pace::find(name).ok_or_else(|| unknown("pace", name, PACES.iter().map(|p| p.name))),
        None => Ok(pace::implied(pacing)),
    }
}

fn named_engine(options: &Options) -> Result<&'static EngineEntry, Failure> {
    match &options.engine {
        Some(name) => {
            let known = || unknown("engine", name, ENGINES.iter().map(|e| e.name));
            let entry = engine::find(name).ok_or_else(known)?;
            if options.reach.resolver.is_some() && !entry.resolves {
                return Err(Failure::misuse(
                    format!("the engine `{name}` does not resolve names, which --resolver needs"),
                    "leave --engine out",
                ));
            }
            Ok(entry)
        }
        None => Ok(&ENGINES[0]),
    }
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Failure {
    let known: Vec<&str> = known.collect();
    Failure::misuse(format!("there is no {what} `{name}`"), format!("choose one of {}", known.join(", ")))
}

/// The limit that the user asks for, or else the protocol's own.
fn requests_per_connection(
    options: &Options,
    scheme: &str,
    max: Option<u64>,
) -> Result<Option<u64>, Failure> {
    match (options.workload.requests_per_connection, max) {
        (Some(asked), Some(max)) if asked > max => Err(Failure::misuse(
            format!("{scheme} allows {max} request per connection, not {asked}"),
            "leave --requests-per-connection out",
        )),
        (asked, max) => Ok(asked.or(max)),
    }
}

fn check_pipeline(options: &Options, pace: &Pace, requests_per_connection: u64) -> Result<(), Failure> {
    let (under_way, flag) = (http_version::under_way(options), http_version::flag(options));
    let fix = format!("leave {flag} out");
    if !(1..=PIPELINE_MAX).contains(&under_way) {
        return Err(Failure::misuse(
            format!("{flag} is {under_way}"),
            format!("{flag} takes 1 to {PIPELINE_MAX}"),
        ));
    }
    let is_browser = options.workload.browser.is_some();
    if options.pipeline > 1 && is_browser {
        return Err(Failure::misuse("a browser does not pipeline requests", fix));
    }
    if under_way > 1 && !is_browser && matches!(pace, Pace::Closed { think } if *think > Nanos::ZERO) {
        return Err(Failure::misuse(
            format!("--think waits for each reply, and cannot be combined with {flag}"),
            fix,
        ));
    }
    if u64::from(under_way) > requests_per_connection {
        let what = format!(
            "{under_way} concurrent requests need connections that carry more than {requests_per_connection}"
        );
        return Err(Failure::misuse(what, fix));
    }
    Ok(())
}

/// Refuses options that ask for what sessions decide themselves.
fn check_sessions(options: &Options, sessions: &SessionPlan) -> Result<(), Failure> {
    let refused = [
        (
            "--pipeline",
            options.pipeline > 1,
            "a session decides how many requests are sent at once: see burst in docs/requests.md",
        ),
        (
            "--streams",
            options.streams.is_some(),
            "a session decides how many requests are sent at once: see burst in docs/requests.md, and -c for more users",
        ),
        (
            "--idle-trickle",
            options.workload.idle_trickle.is_some(),
            "remove it: idle connections do not run sessions",
        ),
    ];
    if let Some((option, _, fix)) = refused.iter().find(|(_, given, _)| *given) {
        return Err(Failure::misuse(format!("{option} does not apply to sessions"), *fix));
    }
    if sessions.info.burst_max > PIPELINE_MAX {
        return Err(Failure::misuse(
            format!("a burst of {} requests at once", sessions.info.burst_max),
            format!("{PIPELINE_MAX} are the most"),
        ));
    }
    Ok(())
}

/// Checks the numbers that have a range.
fn check_limits(options: &Options, groups: &[(&'static str, Group)]) -> Result<(), Failure> {
    if options.requests == Some(0) {
        return Err(Failure::misuse("-n asks for no request", "ask for one at least, or leave -n out"));
    }
    if options.timeout == Nanos::ZERO {
        return Err(Failure::misuse("the timeout is zero", "give a longer --timeout"));
    }
    let connections: u64 = groups.iter().map(|(_, group)| group.connections).sum();
    if connections > u64::from(u32::MAX) / u64::from(http_version::under_way(options)) {
        return Err(Failure::misuse(format!("{connections} connections are too many"), "ask for fewer"));
    }
    if let Some(n) = options.threads.filter(|n| !(1..=THREADS_MAX).contains(n)) {
        return Err(Failure::misuse(format!("{n} threads"), format!("-t takes 1 to {THREADS_MAX}")));
    }
    if let Some(n) = options.processes.filter(|n| !(1..=PROCESSES_MAX).contains(n)) {
        return Err(Failure::misuse(
            format!("{n} processes"),
            format!("--processes takes auto or 1 to {PROCESSES_MAX}"),
        ));
    }
    Ok(())
}

/// The users who come and go, where the options ask for them.
fn growth(options: &Options, pace: &Pace) -> Result<Option<Growth>, Failure> {
    let Some(text) = &options.workload.user_stages else { return Ok(None) };
    if !matches!(pace, Pace::Closed { .. }) {
        return Err(Failure::misuse(
            "--user-stages changes the number of users, and cannot be combined with a rate",
            "leave --user-stages out, or -R, --stages and --search",
        ));
    }
    Growth::parse(text).map(Some).map_err(|what| Failure::misuse(what, SEE_HELP))
}

/// The length of the measured part; `None` if the run ends with its last request.
fn duration(
    options: &Options,
    groups: &[(&'static str, Group)],
    pace: &Pace,
    growth: Option<&Growth>,
) -> Result<Option<Nanos>, Failure> {
    let scheduled = match pace {
        Pace::Open(open) => open.length(),
        Pace::Closed { .. } => growth.map(Growth::length),
        Pace::Search(_) => None,
    };
    let ends_with_requests =
        options.requests.is_some() && active(groups).is_some() && !matches!(pace, Pace::Search(_));
    let duration = match options.duration {
        Some(Nanos::ZERO) => return Err(Failure::misuse("the duration is zero", "give a longer -d")),
        Some(duration) => Some(duration),
        None if is_storm(groups) => Some(STORM_DURATION),
        None => match scheduled {
            Some(length) => Some(length - options.warmup),
            None if ends_with_requests => None,
            None => Some(DURATION),
        },
    };
    if duration == Some(Nanos::ZERO) {
        return Err(Failure::misuse("the warm-up is as long as all stages together", "shorten --warmup"));
    }
    Ok(duration)
}

fn sources(text: &str) -> Result<Sources, Failure> {
    Sources::parse(text).ok_or_else(|| {
        Failure::misuse(format!("`{text}` is not a range of addresses"), "write --source 127.0.0.0/28")
    })
}

impl std::fmt::Debug for LoadPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LoadPlan({})", self.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut Options)) -> String {
        let mut options = Options::new("http://host.invalid/");
        change(&mut options);
        let misuse = LoadPlan::new(&options).unwrap_err();
        assert!(!misuse.fix.is_empty());
        let text = misuse.to_string();
        assert!(!text.contains('\n'), "{text}");
        text
    }

    #[test]
    fn every_misuse_has_one_line_and_a_fix() {
        for (url, word) in [
            ("127.0.0.1:80", "scheme"),
            ("ftp://h", "ftp://"),
            ("blob://127.0.0.1/5", "port"),
            ("blob://127.0.0.1:1/x", "bytes"),
            ("busy://127.0.0.1:1/x", "path"),
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
        assert!(refused(|o| o.timeout = Nanos::ZERO).contains("timeout"));
        assert!(refused(|o| o.fail_if = vec!["p99".into()]).contains("p99"));
        assert!(refused(|o| o.think_times = ThinkTimes::Uniform).contains("needs think times"));
        assert!(refused(|o| o.threads = Some(0)).contains("threads"));
        assert!(refused(|o| o.processes = Some(0)).contains("processes"));
        assert!(refused(|o| o.workload.connections = 5_000_000_000).contains("connections"));
        assert!(refused(|o| o.verify = true).contains("--verify needs a path"));
        assert!(refused(|o| o.body = Some("@/nonexistent".into())).contains("/nonexistent"));
    }

    #[test]
    fn a_plan_asks_nothing_of_the_machine() {
        // A name that does not resolve, more connections than descriptors or ports, and a CPU that does not exist.
        let mut options = Options::new("http://host.invalid/");
        options.workload.connections = 4_000_000;
        options.cpus = vec![9999];
        let plan = LoadPlan::new(&options).unwrap();
        assert_eq!((plan.port, plan.connections(), plan.processes), (80, 4_000_000, None));
    }

    #[test]
    fn a_protocol_of_one_request_per_connection_sets_the_limit() {
        let mut options = Options::new("busy://127.0.0.1:1");
        assert_eq!(LoadPlan::new(&options).unwrap().groups[0].1.lifecycle.requests_max, 1);
        options.workload.requests_per_connection = Some(2);
        assert!(LoadPlan::new(&options).unwrap_err().to_string().contains("allows 1 request per connection"));
    }

    #[test]
    fn a_run_without_an_end_gets_one() {
        let mut options = Options::new("http://host.invalid/");
        assert_eq!(LoadPlan::new(&options).unwrap().duration, Some(DURATION));
        options.requests = Some(5);
        assert_eq!(LoadPlan::new(&options).unwrap().duration, None);
        options.pacing.stages = Some("0:10:3s".into());
        options.warmup = Nanos::from_secs(1);
        assert_eq!(LoadPlan::new(&options).unwrap().duration, Some(Nanos::from_secs(2)));
        options.warmup = Nanos::from_secs(3);
        assert!(LoadPlan::new(&options).unwrap_err().to_string().contains("warm-up"));
    }
}
