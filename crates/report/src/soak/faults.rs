//! The faults of a soak, each over all its occurrences.

use std::collections::BTreeMap;

use pitot_meter::units::grouped;
use pitot_record::Soak;
use pitot_record::soak::{Fault, SECOND_S};
use pitot_stats::median;
use serde_json::{Value, json};

use super::analysis::{Analysis, SubjectFigures};
use crate::faults::{Row, TOLERANCE};
use crate::json::errors_of;
use crate::number::figure;

/// Readings so long before and after a fault are compared, seconds.
const STRETCH_S: f64 = 600.0;
/// Readings so close to the start or end of a fault do not count, seconds.
const MARGIN_S: f64 = 0.1;
const READINGS_MIN: usize = 3;
/// Figures that a fault must not change, and whether only a rise is worse.
const STANDING: [(&str, bool); 4] =
    [("processes", false), ("threads", false), ("descriptors", false), ("memory-private", true)];

/// How to read the columns.
pub(super) const LEGEND: &str = "Times count from the start of the fault: to the first correct reply after an outage, and until the rate \
     was back at 95% of the rate before. Replies are a percentage of those before. A fault accounts for what follows until the next \
     fault, at most one minute; memory, descriptors, threads and processes are compared over ten minutes. Repeated faults: medians, \
     with their range.";

/// The faults of all servers.
pub(super) fn rows<'a>(a: &'a Analysis<'_>) -> Vec<Row<'a>> {
    let losses = Losses::of(a.soak);
    a.subjects.iter().flat_map(|subject| of_server(a.soak, subject, &losses)).collect()
}

fn of_server<'a>(soak: &'a Soak, server: &'a SubjectFigures<'_>, losses: &Losses) -> Vec<Row<'a>> {
    let own: Vec<&Fault> = soak.faults.iter().filter(|fault| fault.subject == server.subject.id).collect();
    let mut numbers: Vec<u32> = own.iter().map(|fault| fault.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.into_iter().filter_map(|number| row(&own, server, number, losses)).collect()
}

fn row<'a>(
    own: &[&'a Fault],
    server: &'a SubjectFigures<'_>,
    number: u32,
    losses: &Losses,
) -> Option<Row<'a>> {
    let all = || own.iter().filter(|fault| fault.number == number).copied();
    let made: Vec<&Fault> = all().filter(|fault| fault.was_made).collect();
    let shown = made.last().copied().or_else(|| all().next())?;
    let lost: u64 = made.iter().map(|fault| losses.in_fault(fault)).sum();
    let lost = (lost > 0).then(|| format!("{} acknowledged requests were lost", grouped(lost)));
    let lasted = made.iter().filter_map(|fault| Some(fault.until_s? - fault.at_s));
    Some(Row {
        of: server.subject.name.clone(),
        kind: &shown.kind,
        what: &shown.what,
        command: &shown.command,
        at_s: made.first().filter(|_| made.len() == 1).map(|fault| fault.at_s),
        lasted_s: median(&lasted.collect::<Vec<_>>()),
        made: (made.len(), all().count()),
        times: "times",
        died: made.iter().filter(|fault| fault.server_died).count(),
        effects: made.iter().filter_map(|fault| fault.effect.clone()).collect(),
        left: lost.into_iter().chain(left_behind(own, server, &made)).collect(),
    })
}

/// The losses of each server and the starts of its faults, in the order of time.
struct Losses(BTreeMap<i64, Of>);

#[derive(Default)]
struct Of {
    begins: Vec<f64>,
    /// The ends of seconds, and how much was lost up to each.
    lost: Vec<(f64, u64)>,
}

impl Losses {
    fn of(soak: &Soak) -> Losses {
        let mut all: BTreeMap<i64, Of> = BTreeMap::new();
        for fault in soak.faults.iter().filter(|fault| fault.was_made) {
            all.entry(fault.subject).or_default().begins.push(fault.at_s);
        }
        let subjects: BTreeMap<i64, i64> = soak.loads.iter().map(|load| (load.id, load.subject)).collect();
        // Longer stretches are recorded with their fault.
        for loss in soak.losses.iter().filter(|loss| loss.length_s <= SECOND_S) {
            let Some(subject) = subjects.get(&loss.load) else { continue };
            all.entry(*subject).or_default().lost.push((loss.at_s + SECOND_S, loss.lost));
        }
        for of in all.values_mut() {
            of.begins.sort_by(f64::total_cmp);
            of.lost.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut sum = 0;
            for (_, lost) in &mut of.lost {
                sum += *lost;
                *lost = sum;
            }
        }
        Losses(all)
    }

    /// The lost requests that were acknowledged from the second of a fault until the next fault, at most a minute after its end.
    fn in_fault(&self, fault: &Fault) -> u64 {
        let Some(of) = self.0.get(&fault.subject) else { return fault.lost };
        let next = of.begins.partition_point(|at_s| *at_s <= fault.at_s);
        let (from_s, until_s) = fault.loss_stretch(of.begins.get(next).copied());
        let up_to = |count: usize| count.checked_sub(1).map_or(0, |last| of.lost[last].1);
        let ended_by = |time_s: f64| of.lost.partition_point(|(over_s, _)| *over_s <= time_s);
        fault.lost + up_to(ended_by(until_s)).saturating_sub(up_to(ended_by(from_s)))
    }
}

/// The figures of the server whose median after a fault is outside their range before it: how often, and the last.
fn left_behind(own: &[&Fault], server: &SubjectFigures<'_>, made: &[&Fault]) -> Vec<String> {
    let changed = STANDING.iter().filter_map(|(name, only_higher)| {
        let series = server.find(name)?;
        let within = |from: f64, to: f64| {
            let is_within = |index: &usize| {
                let (begins, ends) = series.stretch_s(*index);
                begins >= from + MARGIN_S && ends <= to - MARGIN_S
            };
            let mut values: Vec<f64> =
                (0..series.points.len()).filter(is_within).map(|index| series.points[index].1).collect();
            values.sort_by(f64::total_cmp);
            (values.len() >= READINGS_MIN).then_some(values)
        };
        let differs = |fault: &&Fault| {
            let until_s = fault.until_s?;
            let others = || own.iter().filter(|other| other.was_made && other.due_s != fault.due_s);
            let earlier = others().filter_map(|other| other.until_s).filter(|at_s| *at_s <= fault.at_s);
            let next = others().map(|other| other.at_s).filter(|at_s| *at_s >= fault.at_s);
            let before = within(earlier.fold(fault.at_s - STRETCH_S, f64::max), fault.at_s)?;
            let after = within(until_s, next.fold(until_s + STRETCH_S, f64::min))?;
            let (least, most) = (*before.first()?, *before.last()?);
            let (usual, now) = (before[before.len() / 2], *after.get(after.len() / 2)?);
            let is_other = (now - usual).abs() > usual * TOLERANCE && !(least..=most).contains(&now);
            (is_other && (!only_higher || now > usual)).then_some((usual, now))
        };
        let all: Vec<(f64, f64)> = made.iter().filter_map(differs).collect();
        let (before, after) = *all.last()?;
        let value = |value: f64| figure(value, series.figure.unit);
        let times =
            if made.len() > 1 { format!(" ({} of {} times)", all.len(), made.len()) } else { String::new() };
        let title = series.figure.title.trim_start_matches("the number of ");
        Some(format!("{title} {} before, {} after{times}", value(before), value(after)))
    });
    changed.collect()
}

/// Each fault, with what its clients saw.
pub(super) fn json(a: &Analysis<'_>) -> Vec<Value> {
    let name = |id: i64| a.subjects.iter().find(|s| s.subject.id == id).map(|s| s.subject.name.as_str());
    let losses = Losses::of(a.soak);
    let fault = |fault: &Fault| {
        let seen = fault.effect.as_ref();
        json!({
            "server": name(fault.subject),
            "number": fault.number,
            "kind": fault.kind,
            "what": fault.what,
            "command": fault.command,
            "made": fault.was_made,
            "due_s": fault.due_s,
            "began_s": fault.at_s,
            "ended_s": fault.until_s,
            "server_died": fault.server_died,
            "service": seen.map(|seen| json!(seen.service)),
            "errors": seen.map(errors_of),
            "lost": losses.in_fault(fault),
            "errors_before": seen.map(|seen| seen.errors_before),
        })
    };
    a.soak.faults.iter().map(fault).collect()
}

#[cfg(test)]
mod tests {
    use pitot_record::soak::{Load, Loss};

    use super::*;

    #[test]
    fn what_is_lost_belongs_to_the_last_fault_before_it() {
        let fault = |subject: i64, at_s: f64| Fault {
            subject,
            at_s,
            until_s: Some(at_s + 1.0),
            was_made: true,
            ..Fault::default()
        };
        let loss = |load: i64, at_s: f64, lost: u64| Loss { load, at_s, length_s: SECOND_S, lost, torn: 0 };
        let loads = [(1, 1), (2, 1), (3, 2)].map(|(id, subject)| Load { id, subject, ..Load::default() });
        let soak = Soak {
            loads: loads.into(),
            faults: vec![fault(1, 10.0), fault(1, 30.0), Fault { lost: 100, ..fault(2, 10.0) }],
            // Long before, in its second, after it, in the second in which the next one begins, and long after.
            losses: vec![
                loss(1, 5.0, 1),
                loss(1, 9.5, 2),
                loss(2, 20.0, 4),
                loss(1, 29.5, 8),
                loss(1, 80.0, 16),
                loss(1, 95.0, 32),
                loss(3, 11.0, 64),
                // Of a minute long ago nobody knows more than the fault does.
                Loss { length_s: 60.0, ..loss(3, 0.0, 128) },
            ],
            ..Soak::default()
        };
        let losses = Losses::of(&soak);
        let lost: Vec<u64> = soak.faults.iter().map(|fault| losses.in_fault(fault)).collect();
        assert_eq!(lost, [2 + 4, 8 + 16, 100 + 64]);
        assert_eq!(losses.in_fault(&fault(9, 1.0)), 0);
    }
}
