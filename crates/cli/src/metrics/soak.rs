//! The figures of `pitot soak`.

use std::collections::{BTreeMap, BTreeSet};

use pitot_lab::{Event, LoadStatus, ServerStatus, SoakStatus};
use pitot_record::file::Moment;
use pitot_record::soak::{EventKind, Fault, Reading, Subject};
use pitot_results::secrets::Secrets;
use pitot_scrape::{Family, Label, Publisher, Unit, label};

use super::about::{about, times};
use super::name::Named;
use super::traffic::{self, Traffic};

/// The machine among the servers.
const MACHINE: i64 = 0;
/// How the sentences of what drifts begin, after the name of the server.
const MARKS: [(&str, &str); 2] = [("leak? ", "leak"), ("drift: ", "drift")];

/// Tells how a soak goes.
pub(crate) struct SoakMetrics {
    publisher: Publisher,
    secrets: Secrets,
    about: Family,
    status: SoakStatus,
    /// The servers by their numbers, each under a name that no other has.
    servers: BTreeMap<i64, String>,
    /// The values of the last interval.
    readings: Vec<Reading>,
    /// CPU time by server.
    cpu_s: BTreeMap<i64, f64>,
    /// Events by server and kind. An event with an end comes again when its end is known.
    events: BTreeMap<(i64, String), u64>,
    hangs: BTreeMap<i64, u64>,
    /// Hangs that have not ended, by server, kind and begin.
    hanging: BTreeSet<(i64, String, u64)>,
    /// Faults by server, number and moment, which identify them.
    faults: BTreeMap<(i64, u32, u64), Fault>,
    /// Sentences.
    drifts: Vec<String>,
}

impl SoakMetrics {
    pub(crate) fn new(publisher: Publisher, secrets: Secrets, title: &str) -> SoakMetrics {
        let metrics = SoakMetrics {
            publisher,
            about: about("soak", &secrets.hide(title)),
            secrets,
            status: SoakStatus::default(),
            servers: BTreeMap::new(),
            readings: Vec::new(),
            cpu_s: BTreeMap::new(),
            events: BTreeMap::new(),
            hangs: BTreeMap::new(),
            hanging: BTreeSet::new(),
            faults: BTreeMap::new(),
            drifts: Vec::new(),
        };
        metrics.publish();
        metrics
    }

    /// Takes an event, and what is known to drift.
    pub(crate) fn take(&mut self, event: &Event<'_>, drifts: &[String]) {
        match event {
            Event::SoakBegun { subjects, .. } => self.begin(subjects),
            Event::Recorded(moment) => self.recorded(moment),
            Event::Status(status) => {
                self.status = (*status).clone();
                self.drifts = drifts.to_vec();
            }
            Event::Finished(_) => self.status.left_s = 0.0,
            Event::Trying(_)
            | Event::GivenUp { .. }
            | Event::Started { .. }
            | Event::Begun(_)
            | Event::Measured { .. }
            | Event::Warning(_) => return,
        }
        self.publish();
    }

    fn begin(&mut self, subjects: &[Subject]) {
        let names = self.unique(subjects.iter().map(|subject| &*subject.name));
        self.servers = subjects.iter().map(|subject| subject.id).zip(names).collect();
    }

    /// Names without secrets, each of which stands once.
    fn unique<'n>(&self, names: impl Iterator<Item = &'n str>) -> Vec<String> {
        let mut known: BTreeMap<String, u32> = BTreeMap::new();
        names
            .map(|name| {
                let name = self.secrets.hide(name).into_owned();
                let times = known.entry(name.clone()).and_modify(|times| *times += 1).or_insert(1);
                if *times == 1 { name } else { format!("{name} #{times}") }
            })
            .collect()
    }

    fn recorded(&mut self, moment: &Moment) {
        // All values of an interval come together, and a server that is down has none.
        if !moment.readings.is_empty() {
            self.readings.clone_from(&moment.readings);
        }
        for reading in moment.readings.iter().filter(|reading| reading.metric == "server-cpu") {
            *self.cpu_s.entry(reading.subject).or_default() += reading.mean / 100.0 * reading.length_s;
        }
        for event in &moment.events {
            let (server, kind) = (event.subject.unwrap_or(MACHINE), event.kind.word());
            let key = (server, kind.clone(), event.at_s.to_bits());
            // An event with an end comes twice, unless its end is known the first time.
            let is_known = self.hanging.remove(&key);
            if !is_known {
                *self.events.entry((server, kind)).or_default() += 1;
                *self.hangs.entry(server).or_default() += u64::from(event.kind.is_hang());
            }
            if event.until_s.is_none() && EventKind::has_end(event.kind) {
                self.hanging.insert(key);
            }
        }
        for fault in &moment.faults {
            self.faults.insert((fault.subject, fault.number, fault.due_s.to_bits()), fault.clone());
        }
    }

    fn publish(&self) {
        self.publisher.publish(self.families());
    }

    pub(super) fn families(&self) -> Vec<Family> {
        let mut families = vec![self.about.clone()];
        families.extend(times(self.status.now_s, Some(self.status.left_s)));
        let of_loads: Vec<Traffic> =
            self.named().flat_map(|(_, name, status)| self.traffic(name, status)).collect();
        families.extend(traffic::families(&of_loads));
        families.extend(self.of_servers());
        families.extend(self.of_faults());
        families.extend(self.of_drifts());
        families.extend(self.of_readings());
        families
    }

    /// The servers of the last status, which are in the order of their numbers.
    fn named(&self) -> impl Iterator<Item = (i64, &str, &ServerStatus)> {
        self.servers.iter().zip(&self.status.servers).map(|((id, name), status)| (*id, &**name, status))
    }

    fn traffic(&self, server: &str, status: &ServerStatus) -> Vec<Traffic> {
        let names = self.unique(status.loads.iter().map(|load| &*load.name));
        status.loads.iter().zip(names).map(|(load, name)| of_load(server, name, load)).collect()
    }

    fn of_servers(&self) -> Vec<Family> {
        let mut up = Family::gauge("pitot_server_up", "Whether the server runs: 1 or 0.");
        let mut deaths =
            Family::counter("pitot_server_deaths", "How often the server ended, except in faults.");
        let mut restarts = Family::counter("pitot_server_restarts", "How often the server was restarted.");
        let mut hangs = Family::counter("pitot_hangs", "Hangs: replies stopped although the server was up.");
        let mut hanging = Family::gauge("pitot_hanging", "Hangs that have not ended.");
        let mut cpu = Family::counter("pitot_server_cpu", "CPU time of the server's processes under load.")
            .in_unit(Unit::Seconds);
        for (id, name, status) in self.named() {
            let labels = || vec![label("server", name)];
            up.put(labels(), u64::from(status.is_up));
            deaths.put(labels(), status.endings.deaths);
            restarts.put(labels(), status.endings.restarts);
            hangs.put(labels(), self.hangs.get(&id).copied().unwrap_or(0));
            let is_hang = |kind: &str| EventKind::of(kind).is_some_and(EventKind::is_hang);
            let open = self.hanging.iter().filter(|(server, kind, _)| *server == id && is_hang(kind));
            hanging.put(labels(), open.count() as u64);
            if let Some(cpu_s) = self.cpu_s.get(&id) {
                cpu.put(labels(), *cpu_s);
            }
        }
        let mut events =
            Family::counter("pitot_events", "Events by server and kind, as in the file of the soak.");
        for ((server, kind), count) in &self.events {
            let labels = self.of_server(*server).into_iter().chain([label("kind", &**kind)]);
            events.put(labels.collect(), *count);
        }
        vec![up, deaths, restarts, hangs, hanging, cpu, events]
    }

    /// The label of a server; none for the machine.
    fn of_server(&self, id: i64) -> Option<Label> {
        self.servers.get(&id).map(|name| label("server", &**name))
    }

    fn of_faults(&self) -> Vec<Family> {
        let mut made = Family::counter("pitot_faults", "Faults that were made to the server.");
        let mut active =
            Family::gauge("pitot_faults_active", "Faults that have not ended, by what they are.");
        for (id, name) in &self.servers {
            let own = || self.faults.values().filter(|fault| fault.subject == *id);
            let count = own().filter(|fault| fault.was_made || fault.until_s.is_none()).count();
            made.put(vec![label("server", &**name)], count as u64);
            let kinds: BTreeSet<&str> = own().map(|fault| &*fault.kind).collect();
            for kind in kinds {
                let open = own().filter(|fault| fault.kind == kind && fault.until_s.is_none()).count();
                active.put(vec![label("server", &**name), label("fault", kind)], open as u64);
            }
        }
        vec![made, active]
    }

    fn of_drifts(&self) -> Vec<Family> {
        let mut drifts =
            Family::gauge("pitot_drifts", "Figures that drift so far, by server; looked for once a minute.");
        let machine = "the machine".to_owned();
        for (id, name) in self.servers.iter().chain([(&MACHINE, &machine)]) {
            let own =
                self.drifts.iter().filter_map(|sentence| sentence.strip_prefix(&**name)?.strip_prefix(": "));
            for (mark, kind) in MARKS {
                let count = own.clone().filter(|sentence| sentence.starts_with(mark)).count();
                let labels = self.of_server(*id).into_iter().chain([label("kind", kind)]);
                drifts.put(labels.collect(), count as u64);
            }
        }
        vec![drifts]
    }

    /// The samples of the last interval.
    fn of_readings(&self) -> Vec<Family> {
        let mut families: BTreeMap<(bool, &str), Named> = BTreeMap::new();
        for reading in &self.readings {
            let is_machine = reading.subject == MACHINE;
            let prefix = if is_machine { "pitot_machine" } else { "pitot_server" };
            let Some(new) = Named::find(prefix, &reading.metric) else { continue };
            let named = families.entry((is_machine, &reading.metric)).or_insert(new);
            let value = named.value(reading.mean);
            named.family.put(self.of_server(reading.subject).into_iter().collect(), value);
        }
        families.into_values().map(|named| named.family).collect()
    }
}

fn of_load(server: &str, name: String, load: &LoadStatus) -> Traffic {
    Traffic {
        labels: vec![label("server", server), label("load", name)],
        completed: load.completed,
        by_status: load.by_status,
        missed: load.missed,
        errors: load.errors,
        kinds: load.kinds.iter().map(|kind| (kind.phase.clone(), kind.kind.clone(), kind.count)).collect(),
        received: load.received,
        sent: load.sent,
        lost: Some(load.lost),
        response: load.response,
        open: load.open,
        rate: load.rate,
        percentiles: match load.rate {
            0 => Vec::new(),
            _ => vec![("50", load.p50_ns), ("99", load.p99_ns)],
        },
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use pitot_record::soak::{Endings, Event as Happened};

    use super::*;

    fn text(metrics: &SoakMetrics) -> String {
        pitot_scrape::text(&Arc::new(metrics.families()), pitot_scrape::Format::OpenMetrics)
    }

    #[track_caller]
    fn assert_told(metrics: &SoakMetrics, lines: &[&str]) {
        let text = text(metrics);
        for line in lines {
            assert!(text.lines().any(|other| other == *line), "{line}\n{text}");
        }
    }

    fn begun(names: &[&str]) -> SoakMetrics {
        let mut metrics = SoakMetrics::new(Publisher::default(), Secrets::default(), "a soak");
        let subject =
            |(id, name): (i64, &&str)| Subject { id, name: (*name).to_owned(), ..Subject::default() };
        let subjects: Vec<Subject> = (1..).zip(names).map(subject).collect();
        metrics
            .take(&Event::SoakBegun { file: Path::new("x"), run: "y", subjects: &subjects, loads: &[] }, &[]);
        let server = |name: &&str| ServerStatus {
            name: (*name).to_owned(),
            is_up: true,
            endings: Endings { deaths: 1, restarts: 1 },
            loads: vec![LoadStatus { name: "one".into(), completed: 5, ..LoadStatus::default() }],
        };
        let status = SoakStatus { servers: names.iter().map(server).collect(), ..SoakStatus::default() };
        metrics.take(&Event::Status(&status), &["nginx: leak? memory grew".to_owned()]);
        metrics
    }

    #[test]
    fn servers_and_loads_of_equal_names_are_told_apart() {
        let metrics = begun(&["nginx", "nginx"]);
        let lines = [
            "pitot_server_up{server=\"nginx\"} 1",
            "pitot_server_deaths_total{server=\"nginx #2\"} 1",
            "pitot_requests_total{server=\"nginx #2\",load=\"one\",status=\"other\"} 5",
            "pitot_drifts{server=\"nginx\",kind=\"leak\"} 1",
            "pitot_drifts{kind=\"drift\"} 0",
        ];
        assert_told(&metrics, &lines);
    }

    #[test]
    fn hangs_and_faults_that_are_reported_again_at_their_end_count_once() {
        let mut metrics = begun(&["nginx"]);
        let hang = |until_s| Happened {
            at_s: 7.0,
            until_s,
            subject: Some(1),
            kind: EventKind::HangSilent,
            sentence: String::new(),
            evidence: String::new(),
        };
        let fault = |until_s| Fault {
            subject: 1,
            kind: "stop".into(),
            due_s: 3.0,
            until_s,
            was_made: true,
            ..Fault::default()
        };
        let both = |until_s| Moment {
            events: vec![hang(until_s)],
            faults: vec![fault(until_s)],
            ..Moment::default()
        };
        metrics.take(&Event::Recorded(&both(None)), &[]);
        let count = ["pitot_hangs_total{server=\"nginx\"} 1", "pitot_faults_total{server=\"nginx\"} 1"];
        assert_told(&metrics, &count);
        assert_told(
            &metrics,
            &["pitot_hanging{server=\"nginx\"} 1", "pitot_faults_active{server=\"nginx\",fault=\"stop\"} 1"],
        );
        metrics.take(&Event::Recorded(&both(Some(9.0))), &[]);
        assert_told(&metrics, &count);
        assert_told(
            &metrics,
            &["pitot_hanging{server=\"nginx\"} 0", "pitot_faults_active{server=\"nginx\",fault=\"stop\"} 0"],
        );
        // Another one, of which the end is known at once.
        let other = Moment { events: vec![Happened { at_s: 20.0, ..hang(Some(21.0)) }], ..Moment::default() };
        metrics.take(&Event::Recorded(&other), &[]);
        assert_told(
            &metrics,
            &["pitot_hangs_total{server=\"nginx\"} 2", "pitot_hanging{server=\"nginx\"} 0"],
        );
    }

    #[test]
    fn readings_have_base_units_and_go_when_a_server_is_down() {
        let mut metrics = begun(&["nginx"]);
        let reading = |subject, metric: &str, mean| Reading {
            subject,
            metric: metric.to_owned(),
            length_s: 10.0,
            mean,
            ..Reading::default()
        };
        let all =
            vec![reading(1, "server-cpu", 150.0), reading(1, "memory-rss", 4096.0), reading(0, "steal", 2.0)];
        metrics.take(&Event::Recorded(&Moment { readings: all, ..Moment::default() }), &[]);
        let lines = [
            "pitot_server_cpu_ratio{server=\"nginx\"} 1.5",
            "pitot_server_cpu_seconds_total{server=\"nginx\"} 15.0",
            "pitot_server_memory_rss_bytes{server=\"nginx\"} 4096.0",
            "pitot_machine_steal_ratio 0.02",
        ];
        assert_told(&metrics, &lines);
        let down = vec![reading(0, "steal", 1.0)];
        metrics.take(&Event::Recorded(&Moment { readings: down, ..Moment::default() }), &[]);
        assert!(!text(&metrics).contains("pitot_server_memory_rss_bytes"));
        assert_told(&metrics, &["pitot_server_cpu_seconds_total{server=\"nginx\"} 15.0"]);
    }
}
