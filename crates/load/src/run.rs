//! A run from its start to its report.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, SystemTime};

use pitot_durability::{Acknowledged, OfConnection};
use pitot_meter::{Nanos, now};
use pitot_results::load::{
    self, Bytes, Client, ErrorRow, LoadResult, SCHEMA, SearchResult, Second, Step, Storm, Window,
};
use pitot_results::{Failure, Latencies, Printed, VerdictKind, rfc3339};
use serde_json::Value;

use crate::collect::{Collector, Finished};
use crate::plan::LoadPlan;
use crate::preload::preload;
use crate::prepared::PreparedRun;
use crate::processes::{Processes, Respawn};
use crate::report::{self, INTERRUPTED, Report};
use crate::silence;
use crate::threads::Threads;
use crate::under_way::Looks;
use crate::verdict;
use crate::watch::{Preparing, Progress, Watch};
use pitot_drive::condition::{Condition, Figures};
use pitot_drive::gate::Gate;
use pitot_drive::message::Message;
use pitot_drive::pace::{Pace, Search, constant_at};
use pitot_drive::tally::Acknowledgements;

/// The load generator itself could not go on.
fn stopped(why: impl Into<String>) -> Failure {
    Failure::run(why, "check the limits on descriptors, processes and memory (ulimit -a), then run it again")
}

/// How often the observer is asked whether the run is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How often the observer is told how far the run is before its measured part.
const TELL_INTERVAL: Nanos = Nanos::from_millis(250);

/// Runs a prepared plan to its end.
///
/// # Errors
/// A thread or process could not go on. A server that does not answer is not one of them: that is in the report.
pub fn run(run: &PreparedRun, respawn: Option<&Respawn>, watch: &mut dyn Watch) -> Result<Report, Failure> {
    if !preload(run, watch)? {
        return Err(Failure::run(
            "interrupted while the server was being prepared",
            "run it again for a result",
        ));
    }
    match &run.plan.pace {
        Pace::Search(search) => run_search(run, search, respawn, watch),
        pace => Ok(measure(run, pace, None, respawn, watch)?.report(run, pace)),
    }
}

/// Runs at one rate after the other. The report is that of the highest rate that passed, or of the last.
fn run_search(
    run: &PreparedRun,
    search: &Search,
    respawn: Option<&Respawn>,
    watch: &mut dyn Watch,
) -> Result<Report, Failure> {
    let mut explorer = search.explore();
    let mut steps = Vec::new();
    let mut best: Option<Report> = None;
    let mut last = None;
    let mut ended_early = None;
    while let Some(rate) = explorer.next() {
        let pace = constant_at(rate);
        let measured = measure(run, &pace, Some(rate), respawn, watch)?;
        let report = measured.report(run, &pace);
        let result = &report.result;
        ended_early.clone_from(&result.ended_early);
        let stop = ended_early.is_some();
        if ended_early.as_deref() == Some(INTERRUPTED) {
            // A run that was cut says nothing of its rate.
            last = last.or(Some(report));
            break;
        }
        let failed = result.client.verdict == Some(VerdictKind::Failed);
        let passed = !stop && !failed && search.passes(&measured.figures());
        let step = Step {
            rate_rps: rate,
            throughput_rps: result.throughput_rps,
            response_ns: result.latency_ns.response,
            errors: result.error_count(),
            missed: result.requests.missed,
            verdict: result.client.verdict,
            passed,
        };
        watch.step(&step);
        steps.push(step);
        if passed {
            explorer.record(true);
            best = Some(report);
        } else {
            explorer.record(false);
            last = Some(report);
        }
        if stop {
            break;
        }
    }
    let mut report = best.or(last).ok_or_else(|| stopped("the search has not made a single run"))?;
    report.result.ended_early = ended_early;
    report.result.search =
        Some(SearchResult { conditions: search.describe(), found_rps: explorer.found(), steps });
    Ok(report)
}

/// The threads or processes that do the work, waiting for the start at first.
enum Workers {
    Threads(Threads),
    Processes(Processes),
}

impl Workers {
    fn open(&mut self, at: Nanos) {
        match self {
            Workers::Threads(threads) => threads.gate.open(at),
            Workers::Processes(processes) => processes.open(at),
        }
    }

    fn stop(&mut self) {
        match self {
            Workers::Threads(threads) => threads.gate.stop(),
            Workers::Processes(processes) => processes.stop(),
        }
    }
}

/// One run at one pace.
struct Measured {
    collector: Collector,
    window: Window,
    started_at: SystemTime,
    ended_early: Option<String>,
    looks: Looks,
}

fn measure(
    run: &PreparedRun,
    pace: &Pace,
    rate: Option<f64>,
    respawn: Option<&Respawn>,
    watch: &mut dyn Watch,
) -> Result<Measured, Failure> {
    let begun = now();
    let (sender, messages) = channel();
    let (workers, sources) = if run.processes > 1 {
        let respawn = respawn.ok_or_else(|| {
            Failure::run(
                format!("{} processes are needed, and the program to start is not known", run.processes),
                "use fewer --connections, so that one process is enough",
            )
        })?;
        let processes = Processes::start(respawn, run.processes, rate, &sender).map_err(stopped)?;
        (Workers::Processes(processes), run.processes)
    } else {
        let threads = Threads::start(run, pace, run.plan.share, &sender).map_err(stopped)?;
        (Workers::Threads(threads), run.threads)
    };
    drop(sender);
    let collector = Collector::new(sources as usize, watch.keeps_seconds()).in_steps(run.plan.step);
    let mut supervisor = Supervisor {
        run,
        rate,
        watch,
        workers,
        collector,
        ready: 0,
        opened: 0,
        begun,
        told: begun,
        opening: None,
        start_at: None,
        answered_to_s: 0,
        ended_early: None,
        looks: Looks::of(run, pace),
    };
    supervisor.follow(&messages)?;
    let Supervisor { workers, mut collector, opening, start_at, ended_early, looks, .. } = supervisor;
    if let Workers::Threads(threads) = workers {
        threads.join().map_err(stopped)?;
    }
    if run.plan.opened_before_start() > 0 {
        collector.tally.connections.opening_s = opening.map_or(0.0, Nanos::as_secs_f64);
    }
    collector.tally.errors.sort_by_key(|e| std::cmp::Reverse(e.count));
    let end = now().0;
    let window = collector.tally.window.unwrap_or(Window { start: end, end });
    let from = start_at.map_or(Nanos(window.start), |at| at + run.plan.warmup);
    Ok(Measured {
        collector,
        window,
        started_at: report::wall_time(from.min(Nanos(end))),
        ended_early,
        looks,
    })
}

/// Follows a run that is under way, and ends it where needed.
struct Supervisor<'a> {
    run: &'a PreparedRun,
    rate: Option<f64>,
    watch: &'a mut dyn Watch,
    workers: Workers,
    collector: Collector,
    ready: usize,
    opened: u64,
    begun: Nanos,
    /// When the observer was last told how far the run is before its measured part.
    told: Nanos,
    /// How long it took until all connections were tried.
    opening: Option<Nanos>,
    start_at: Option<Nanos>,
    /// Up to which second of the measured part something was answered.
    answered_to_s: u64,
    ended_early: Option<String>,
    /// Looks at the server's connections in the measured part.
    looks: Looks,
}

impl Supervisor<'_> {
    /// Takes messages until all sources have ended.
    fn follow(&mut self, messages: &Receiver<Message>) -> Result<(), Failure> {
        while !self.collector.is_complete() {
            match messages.recv_timeout(POLL_INTERVAL) {
                Ok(message) => self.take(message)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(stopped("a thread of the load generator has failed"));
                }
            }
            if self.ended_early.is_none() && self.watch.interrupted() {
                self.end(INTERRUPTED);
            }
            let now = now();
            self.tell_preparing(now);
            if self.is_measuring(now) {
                self.looks.turn(now);
            }
        }
        Ok(())
    }

    /// Tells the observer how far the run is, as long as it is not in its measured part.
    fn tell_preparing(&mut self, now: Nanos) {
        if now < self.told + TELL_INTERVAL || self.ended_early.is_some() {
            return;
        }
        self.told = now;
        let stage = match self.start_at {
            None => Preparing::Opening { opened: self.tried(), of: self.run.plan.opened_before_start() },
            Some(at) if now < at + self.run.plan.warmup => {
                Preparing::WarmUp { left: (at + self.run.plan.warmup).since(now) }
            }
            Some(_) => return,
        };
        self.watch.preparing(stage);
    }

    /// Whether the measured part is under way: requests are sent for as long as it is.
    fn is_measuring(&self, now: Nanos) -> bool {
        let plan = &self.run.plan;
        let end = plan.length().map_or(Nanos::MAX, |length| self.start_at.unwrap_or_default() + length);
        self.ended_early.is_none() && self.start_at.is_some_and(|at| now >= at + plan.warmup) && now < end
    }

    /// Connections that have been tried, as far as that is known: processes tell it when they have tried all.
    fn tried(&self) -> u64 {
        match &self.workers {
            Workers::Threads(threads) => threads.gate.tried(),
            Workers::Processes(_) => self.opened,
        }
    }

    fn end(&mut self, why: &str) {
        self.ended_early = Some(why.to_owned());
        self.workers.stop();
    }

    fn take(&mut self, message: Message) -> Result<(), Failure> {
        match message {
            Message::Ready { opened } => {
                self.ready += 1;
                self.opened += opened;
                if self.ready == self.sources() {
                    self.start();
                }
            }
            Message::Interval { source, interval } => {
                self.collect(|collector, finished| collector.interval(source, &interval, finished));
                if let Workers::Threads(threads) = &self.workers {
                    threads.give_back(source, interval);
                }
            }
            Message::Final { source, result } => match result {
                Ok(tally) => self.collect(|collector, finished| collector.end(source, &tally, finished)),
                Err(why) => {
                    self.workers.stop();
                    return Err(stopped(why));
                }
            },
        }
        Ok(())
    }

    fn sources(&self) -> usize {
        match &self.workers {
            Workers::Threads(_) => self.run.threads as usize,
            Workers::Processes(_) => self.run.processes as usize,
        }
    }

    /// All connections have been tried: starts, unless not one of them is open.
    fn start(&mut self) {
        self.opening = Some(now().since(self.begun));
        // A run of days may begin while the server is away, and says what its connections meet.
        if self.run.plan.opened_before_start() > 0 && self.opened == 0 && self.watch.keeps_seconds() {
            return self.end("no connection could be opened");
        }
        let Some(at) = self.watch.start(now() + Gate::of(self.run.processes).notice()) else {
            return self.end("no start signal received");
        };
        self.start_at = Some(at);
        self.watch.measured_from(at + self.run.plan.warmup);
        self.workers.open(at);
    }

    /// Has the collector take something, and shows the seconds that are over with it to the observer and the conditions.
    fn collect(&mut self, take: impl FnOnce(&mut Collector, &mut Finished<'_>)) {
        let (plan, watch) = (&self.run.plan, &mut *self.watch);
        let measured_to = self.start_at.zip(plan.length()).map(|(at, length)| at + length);
        let rate = self.rate;
        let mut abort: Option<String> = None;
        // A run that ends with its requests would not end for as long as each of them fails.
        let patience_s = match plan.duration {
            None if watch.keeps_seconds() => patience_s(plan.timeout),
            _ => u64::MAX,
        };
        let answered_to_s = &mut self.answered_to_s;
        take(&mut self.collector, &mut |collector, second, response| {
            watch.second(&Progress {
                steps: collector.steps_of_second(),
                durability: acknowledged_of(plan.durability.as_ref(), collector.acknowledged_in_second()),
                second,
                response,
                errors: collector.errors,
                kinds: &collector.kinds,
                left: measured_to.map(|end| end.since(now())),
                trying_rps: rate,
            });
            if second.completed > 0 {
                *answered_to_s = second.t_s + 1;
            } else if second.t_s + 1 - *answered_to_s >= patience_s && collector.errors > 0 {
                abort.get_or_insert_with(|| given_up(&collector.kinds, second.t_s + 1 - *answered_to_s));
            }
            let figures = figures_so_far(collector, second);
            let held = plan.conditions.abort_on.iter().find(|condition| condition.met(&figures, false));
            if let Some(condition) = held.filter(|_| abort.is_none()) {
                abort = Some(format!("{condition} holds: {}", condition.describe(&figures)));
            }
        });
        if let (Some(why), None) = (abort, &self.ended_early) {
            self.end(&why);
        }
    }
}

/// For how many seconds a run without a duration goes on while nothing is answered and requests fail.
fn patience_s(timeout: Nanos) -> u64 {
    (timeout.as_secs_f64() * 2.0).ceil().max(10.0) as u64
}

/// Why a run was given up.
fn given_up(kinds: &[ErrorRow], seconds: u64) -> String {
    let most = kinds.iter().max_by_key(|row| row.count);
    let instead = most.map(|row| format!(", but {} {} ({} times)", row.phase, row.kind, row.count));
    format!("nothing was answered for {seconds} s{}", instead.unwrap_or_default())
}

/// What the server has acknowledged, for a reader.
fn acknowledged_of(
    blank: Option<&Acknowledged>,
    acknowledged: Option<&Acknowledgements>,
) -> Option<Acknowledged> {
    let (blank, acknowledged) = (blank?, acknowledged?);
    let connections = acknowledged
        .iter()
        .map(|(connection, numbers)| OfConnection {
            connection: connection.clone(),
            numbers: numbers.clone(),
        })
        .collect();
    Some(Acknowledged { connections, ..blank.clone() })
}

/// The figures up to a second that is over.
fn figures_so_far<'a>(collector: &'a Collector, second: &Second) -> Figures<'a> {
    Figures {
        attempted: collector.completed + collector.failed,
        errors: collector.errors,
        missed: collector.missed,
        rate: collector.completed as f64 / (second.t_s + 1) as f64,
        ..Figures::of(&collector.response)
    }
}

impl Measured {
    fn length(&self) -> Nanos {
        Nanos(self.window.end).since(Nanos(self.window.start))
    }

    fn throughput(&self) -> f64 {
        match self.length() {
            Nanos::ZERO => 0.0,
            length => self.collector.completed as f64 / length.as_secs_f64(),
        }
    }

    /// The rate that an open loop asked for in the measured part.
    fn asked(&self, plan: &LoadPlan, pace: &Pace) -> Option<f64> {
        match pace {
            Pace::Open(open) if self.length() > Nanos::ZERO => {
                let due = open.expected(plan.warmup + self.length()) - open.expected(plan.warmup);
                Some(due / self.length().as_secs_f64() / plan.share.count as f64)
            }
            Pace::Open(_) | Pace::Closed { .. } | Pace::Search(_) => None,
        }
    }

    fn figures(&self) -> Figures<'_> {
        let tally = &self.collector.tally;
        Figures {
            response: &self.collector.response,
            connect: Some(&tally.connect),
            handshake: tally.tls.full(),
            resumption: tally.tls.resumed(),
            page: tally.pages.as_ref().map(|pages| &pages.time),
            first_byte: Some(&tally.first_byte),
            gap: Some(&tally.gaps),
            statuses: Some(&tally.statuses),
            attempted: tally.requests.attempted,
            errors: tally.error_count(),
            missed: tally.requests.missed,
            rate: self.throughput(),
        }
    }

    fn report(&self, run: &PreparedRun, pace: &Pace) -> Report {
        let plan = &run.plan;
        let (collector, tally) = (&self.collector, &self.collector.tally);
        let length = self.length();
        let recorded = Latencies {
            response: collector.response.clone(),
            service: tally.service.clone(),
            schedule_lag: tally.schedule_lag.clone(),
            connect: tally.connect.clone(),
            handshake: tally.tls.full().cloned().unwrap_or_default(),
            resumption: tally.tls.resumed().cloned().unwrap_or_default(),
            first_byte: tally.first_byte.clone(),
        };
        let (verdict, reason) =
            verdict::judge(tally, self.looks.seen(), length, plan.has_requests(), plan.usable_cpus());
        let mut connections = tally.connections;
        connections.peak_open = collector.peak_open;
        connections.mean_open = collector.mean_open(length);
        let figures = self.figures();
        let result = LoadResult {
            schema: SCHEMA.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            target: plan.target.clone(),
            options: run.describe(),
            started_at: rfc3339(self.started_at),
            duration_s: length.as_secs_f64(),
            clock_ns: self.window,
            requests: tally.requests,
            warmup: tally.warmup,
            throughput_rps: self.throughput(),
            asked_rps: self.asked(plan, pace).filter(|_| tally.pages.is_none() && tally.sessions.is_none()),
            latency_ns: recorded.figures(),
            smoothness: report::smoothness(tally),
            own_cpu_s: None,
            executions: None,
            connections,
            under_way: self.looks.seen(),
            tls: plan.is_tls.then(|| tally.tls.result()),
            idle: tally.idle,
            errors: tally.errors.clone(),
            statuses: tally.statuses.clone(),
            bytes: Bytes {
                received: collector.received,
                sent: collector.sent,
                content: Some(collector.tally.content),
            },
            sessions: tally
                .sessions
                .as_ref()
                .map(|sessions| sessions.result(self.asked(plan, pace), length.as_secs_f64())),
            protocol: tally.protocol.clone(),
            redirects_to: tally.redirects_to.clone(),
            server_said: tally.server_said.clone(),
            durability: acknowledged_of(plan.durability.as_ref(), Some(&tally.acknowledged)),
            unanswered_since_s: silence::at_the_end(tally)
                .filter(|_| plan.has_requests())
                .map(|silence| silence.since.as_secs_f64()),
            series: collector.series(),
            steps: collector.whole_steps().cloned(),
            client: Client {
                cpu_user_s: tally.threads.iter().map(|t| t.cpu_user_s).sum(),
                cpu_system_s: tally.threads.iter().map(|t| t.cpu_system_s).sum(),
                cpu_utilisation: tally.threads.iter().map(|t| t.cpu_utilisation).fold(0.0, f64::max),
                run_queue_s: tally.threads.iter().filter_map(|t| t.run_queue_s).reduce(f64::max),
                threads: tally.threads.clone(),
                verdict: Some(verdict),
                reason,
            },
            storm: tally.storm.filter(|_| plan.is_storm()).map(|storm| Storm {
                requested: connections.requested,
                established: storm.established,
                established_s: Nanos(storm.last_at_ns).as_secs_f64(),
            }),
            pages: tally.pages.as_ref().map(|pages| pages.figures(length, self.asked(plan, pace))),
            search: None,
            parts: Vec::new(),
            gates: plan.conditions.fail_if.iter().map(|condition| gate(condition, &figures)).collect(),
            ended_early: self.ended_early.clone(),
            histograms: report::encode(&recorded),
            printed: Printed::Load,
            raw: Value::Null,
        };
        Report { result, recorded }
    }
}

fn gate(condition: &Condition, figures: &Figures<'_>) -> load::Gate {
    load::Gate {
        fail_if: condition.to_string(),
        // An unknown figure fails the gate: nothing has shown that the server meets it.
        failed: condition.met(figures, true),
        figure: condition.describe(figures),
    }
}
