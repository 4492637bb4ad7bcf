//! Faults of servers under load, and their effect on clients.

use pitot_fault::{Effect, FaultRecord, Service, service_around};
use pitot_record::{CellRecord, Repetition, Run, Sample};
use pitot_stats::median;

use crate::number::{count, span};

/// A figure of a server must change by more than this share to be reported.
pub(crate) const TOLERANCE: f64 = 0.05;

/// One fault of a cell, over its repetitions; or of a server of a soak, over all occurrences.
pub(crate) struct Row<'r> {
    /// The name of the cell or server.
    pub(crate) of: String,
    pub(crate) kind: &'r str,
    /// What was done, or why not.
    pub(crate) what: &'r str,
    pub(crate) command: &'r str,
    /// Its start, seconds into the measurement: the median.
    pub(crate) at_s: Option<f64>,
    /// Its duration, seconds: the median.
    pub(crate) lasted_s: Option<f64>,
    /// How many times it was made, and how many times it was due.
    pub(crate) made: (usize, usize),
    /// What those are called: `repetitions` or `times`.
    pub(crate) times: &'static str,
    /// In how many of them the whole server died and was restarted.
    pub(crate) died: usize,
    pub(crate) effects: Vec<Effect>,
    /// What changed in the server, in some repetition.
    pub(crate) left: Vec<String>,
}

/// The faults of all cells that had any, cell by cell.
pub(crate) fn rows(run: &Run) -> Vec<Row<'_>> {
    run.cells.iter().flat_map(of_cell).collect()
}

fn of_cell(cell: &CellRecord) -> Vec<Row<'_>> {
    let mut numbers: Vec<u32> = cell.repetitions.iter().flat_map(|r| &r.faults).map(|f| f.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.into_iter().filter_map(|number| row(cell, number)).collect()
}

fn row(cell: &CellRecord, number: u32) -> Option<Row<'_>> {
    let of = |repetition: &'_ Repetition| repetition.faults.iter().position(|fault| fault.number == number);
    let all: Vec<(&Repetition, usize)> = cell.repetitions.iter().filter_map(|r| Some((r, of(r)?))).collect();
    let records = || all.iter().map(|(repetition, index)| &repetition.faults[*index]);
    let made: Vec<&FaultRecord> = records().filter(|fault| fault.was_made()).collect();
    let shown = made.first().copied().or_else(|| records().next())?;
    let start = |repetition: &Repetition| repetition.load.as_ref().map_or(0, |load| load.clock_ns.start);
    let began = all.iter().filter_map(|(repetition, index)| {
        let fault = repetition.faults[*index].began_ns;
        (fault > 0 && start(repetition) > 0).then(|| (fault as f64 - start(repetition) as f64) / 1e9)
    });
    let lasted =
        made.iter().filter(|fault| fault.ended_ns > 0).map(|f| (f.ended_ns - f.began_ns) as f64 / 1e9);
    let mut left: Vec<String> =
        all.iter().flat_map(|(repetition, index)| left_behind(repetition, *index)).collect();
    left.sort();
    left.dedup();
    Some(Row {
        of: cell.label(),
        kind: &shown.kind,
        what: &shown.what,
        command: &shown.command,
        at_s: median(&began.collect::<Vec<_>>()),
        lasted_s: median(&lasted.collect::<Vec<_>>()),
        made: (made.len(), all.len()),
        times: "repetitions",
        died: made.iter().filter(|fault| fault.server_died).count(),
        effects: all.iter().filter_map(|(repetition, index)| effect(repetition, *index)).collect(),
        left,
    })
}

/// The rate during a fault is known if it lasted so long, seconds (`pitot_fault::effect`).
const LASTED_MIN_S: f64 = 0.1;

/// The effect of a fault on clients.
pub(crate) fn effect(repetition: &Repetition, index: usize) -> Option<Effect> {
    let load = repetition.load.as_ref()?;
    service_around(load.steps.as_ref()?, load.clock_ns, &repetition.faults, index)
}

type Count = fn(&Sample) -> Option<u64>;

/// The counts of the server whose median after a fault is outside their range before it.
fn left_behind(repetition: &Repetition, index: usize) -> Vec<String> {
    let fault = &repetition.faults[index];
    let Some(load) = repetition.load.as_ref().filter(|_| fault.was_made()) else { return Vec::new() };
    let others = repetition.faults.iter().filter(|other| other.was_made() && other.number != fault.number);
    let until = others.map(|f| f.began_ns).filter(|at| *at > fault.began_ns).min();
    let until = until.unwrap_or(load.clock_ns.end);
    let servers = |from: u64, to: u64| {
        repetition.samples.iter().filter(move |s| (from..to).contains(&s.at_ns) && s.load.is_some())
    };
    let before: Vec<&Sample> = servers(load.clock_ns.start, fault.began_ns).collect();
    let after: Vec<&Sample> = servers(fault.ended_ns.max(fault.began_ns), until).collect();
    let figures: [(&str, Count); 3] = [
        ("processes", |s| Some(s.server?.processes)),
        ("threads", |s| Some(s.server?.threads)),
        ("descriptors", |s| s.server?.descriptors),
    ];
    let counts = |samples: &[&Sample], of: Count| {
        let mut counts: Vec<u64> = samples.iter().filter_map(|s| of(s)).collect();
        counts.sort_unstable();
        counts
    };
    figures
        .into_iter()
        .filter_map(|(name, of)| {
            let (before, after) = (counts(&before, of), counts(&after, of));
            let (least, most) = (*before.first()?, *before.last()?);
            let (usual, now) = (before[before.len() / 2], *after.get(after.len() / 2)?);
            // With a process per connection, their number always varies.
            let differs = (now as f64 - usual as f64).abs() > usual as f64 * TOLERANCE
                && !(least..=most).contains(&now);
            differs.then(|| format!("{name} {} before, {} after", count(usual), count(now)))
        })
        .collect()
}

impl Row<'_> {
    /// `stop at 2 s for 1 s`.
    pub(crate) fn name(&self) -> String {
        let at = self.at_s.map(|at_s| format!(" at {}", span(at_s)));
        let lasted = self.lasted_s.filter(|s| *s > 0.0).map(|s| format!(" for {}", span(s)));
        format!("{}{}{}", self.kind, at.unwrap_or_default(), lasted.unwrap_or_default())
    }

    /// Time from its start to the first correct reply.
    pub(crate) fn first_reply(&self) -> String {
        self.time(|service| service.first_reply_s, "went on")
    }

    /// Time from its start until the rate was back at 95%.
    pub(crate) fn full_rate(&self) -> String {
        self.time(|service| service.full_rate_s, "never below")
    }

    /// Replies during it, in percent of those before; a short fault has too few for a rate.
    pub(crate) fn meanwhile(&self) -> String {
        if self.lasted_s.is_none_or(|lasted_s| lasted_s < LASTED_MIN_S) {
            return "–".to_owned();
        }
        self.percent(|service| (service.during_rps, service.before_rps).into())
    }

    /// Replies after it, in percent of those before.
    pub(crate) fn afterwards(&self) -> String {
        self.percent(|service| Some((service.after_rps?, service.before_rps)))
    }

    /// The errors of all repetitions together, by kind: `14 receive ECONNRESET, 2 timeout reply`.
    pub(crate) fn errors(&self) -> String {
        let mut all: Vec<(String, u64)> = Vec::new();
        for (phase, kind, errors) in self.effects.iter().flat_map(|effect| &effect.errors) {
            let name = format!("{phase} {kind}");
            match all.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += errors,
                None => all.push((name, *errors)),
            }
        }
        all.sort_by_key(|(_, errors)| std::cmp::Reverse(*errors));
        let words: Vec<String> =
            all.iter().map(|(name, errors)| format!("{} {name}", count(*errors))).collect();
        if words.is_empty() { "none".to_owned() } else { words.join(", ") }
    }

    /// What stayed worse.
    pub(crate) fn worse(&self) -> Vec<String> {
        let services = || self.effects.iter().filter_map(|effect| effect.service.as_ref());
        let mut words = Vec::new();
        let slower = services().filter(|service| service.stays_slower).count();
        if slower > 0 {
            let all = services().count();
            let lower = self.percent(|s| s.stays_slower.then_some((s.after_rps?, s.before_rps)));
            let times =
                if slower < all { format!(" in {slower} of {all} {}", self.times) } else { String::new() };
            words.push(format!("the rate stayed at {lower} of the rate before{times}"));
        }
        let gone = services().filter(|service| service.first_reply_s.is_none()).count();
        if gone > 0 {
            words.push("service did not come back".to_owned());
        }
        words.extend(self.left.iter().cloned());
        words
    }

    /// Sentences that a table has no room for.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let ((made, all), times) = (self.made, self.times);
        if made == 0 {
            notes.push(format!("not made: {}", self.what));
            return notes;
        }
        notes.push(self.what.to_owned());
        if made < all {
            notes.push(format!("made in {made} of {all} {times}"));
        }
        if self.died > 0 {
            let of = if made > 1 { format!(" in {} of {made} {times}", self.died) } else { String::new() };
            notes.push(format!("the whole server died{of}; the lab restarted it"));
        }
        if self.effects.iter().all(|effect| effect.service.is_none()) {
            notes.push("too few correct replies before it to know the usual rate".to_owned());
        }
        notes
    }

    /// The median over repetitions, with the range.
    fn time(&self, of: fn(&Service) -> Option<f64>, none: &str) -> String {
        let services = || self.effects.iter().filter_map(|effect| effect.service.as_ref());
        let mut times: Vec<f64> = services().filter_map(of).collect();
        let (all, back) = (services().count(), times.len());
        if all == 0 {
            return "–".to_owned();
        }
        if back == 0 {
            return "not back".to_owned();
        }
        times.sort_by(f64::total_cmp);
        let show = |s: f64| if s == 0.0 { none.to_owned() } else { span(s) };
        let median = show(times[back / 2]);
        let (least, most) = (show(times[0]), show(times[back - 1]));
        let range = if least == most { String::new() } else { format!(" ({least} to {most})") };
        let missing = if back < all { format!(", {} of {all} not back", all - back) } else { String::new() };
        format!("{median}{range}{missing}")
    }

    fn percent(&self, of: fn(&Service) -> Option<(f64, f64)>) -> String {
        let shares = self.effects.iter().filter_map(|effect| {
            let (part, whole) = of(effect.service.as_ref()?)?;
            (whole > 0.0).then(|| part / whole * 100.0)
        });
        median(&shares.collect::<Vec<_>>()).map_or_else(|| "–".to_owned(), |percent| format!("{percent:.0}%"))
    }
}

/// How to read the columns.
pub(crate) const LEGEND: &str = "Times count from the start of the fault: to the first correct reply after an outage, and until the rate \
     was back at 95% of the rate before. Replies are a percentage of those before. Medians over the repetitions, with their range.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_a_moment_is_not_told() {
        let service = Service { before_rps: 300.0, during_rps: 400.0, ..Service::default() };
        let effect = Effect { service: Some(service), ..Effect::default() };
        let row = |lasted_s: f64| Row {
            of: String::new(),
            kind: "kill",
            what: "",
            command: "",
            at_s: Some(1.0),
            lasted_s: Some(lasted_s),
            made: (1, 1),
            times: "repetitions",
            died: 0,
            effects: vec![effect.clone()],
            left: Vec::new(),
        };
        assert_eq!([row(0.0).meanwhile(), row(1.0).meanwhile()], ["–", "133%"]);
    }
}
