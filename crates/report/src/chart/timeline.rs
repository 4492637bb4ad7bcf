//! A repetition as the monitor saw it: CPU and memory over time.

use super::entry::Chart;
use crate::analysis::{Analysis, Cell};
use crate::axis::Axis;
use crate::number::figure;
use crate::scene::{Anchor, Figure, Ink, Mark, Pane, Scene, Size, Stop};
use pitot_record::{Repetition, Sample, Unit};

pub(super) const CHART: Chart = Chart {
    name: "timeline",
    title: "Timeline of a cell",
    summary: "The repetition with the median throughput, as the monitor sampled it; 100% is one busy CPU. Steal is the time that \
              the hypervisor took from the CPUs of servers and load generator together: on two CPUs it can reach 200%. A steady \
              server is flat while it is measured; a slope means that the warm-up was too short.",
    draw,
};

const POINTS_MAX: usize = 150;
/// To keep the file small, only so many cells are shown, those with the highest load.
pub(super) const CELLS_MAX: usize = 16;
/// Room above the lines for the name of the measured stretch.
const HEADROOM: f64 = 1.15;
const SERVER: Ink = Ink::Part(0);
const LOAD: Ink = Ink::Part(1);
const STEAL: Ink = Ink::Part(2);

fn draw(a: &Analysis<'_>) -> Option<Figure> {
    let mut panes: Vec<Pane> =
        a.cells.iter().rev().filter_map(|cell| pane(a, cell)).take(CELLS_MAX).collect();
    panes.reverse();
    // The last pane is shown first: the best cell of the highest load.
    if let Some(best) = a.top_level().and_then(|level| a.best_at(level, a.headline)) {
        let label = best.record.label();
        if let Some(index) = panes.iter().position(|p| p.label == label) {
            let pane = panes.remove(index);
            panes.push(pane);
        }
    }
    Figure::of("cell", panes)
}

/// The repetition in the middle, by throughput.
fn middle<'r>(cell: &Cell<'r>) -> Option<&'r Repetition> {
    let mut repetitions: Vec<(&Repetition, f64)> = cell
        .record
        .repetitions
        .iter()
        .filter(|r| r.samples.len() > 2)
        .map(|r| (r, r.load.as_ref().map_or(0.0, |l| l.throughput_rps)))
        .collect();
    repetitions.sort_by(|x, y| x.1.total_cmp(&y.1));
    repetitions.get(repetitions.len() / 2).map(|(r, _)| *r)
}

fn pane(a: &Analysis<'_>, cell: &Cell<'_>) -> Option<Pane> {
    let repetition = middle(cell)?;
    let window = repetition.load.as_ref().map(|l| l.clock_ns).filter(|w| w.start > 0 && w.end > w.start);
    let origin = window.map_or(repetition.samples[0].at_ns, |w| w.start);
    let seconds = |at_ns: u64| (at_ns as f64 - origin as f64) / 1e9;
    let samples = thinned(&repetition.samples);
    let are_shared = a.run.info.server_cpus == a.run.info.load_cpus;
    let rates: Vec<(f64, Rates)> = samples
        .windows(2)
        .map(|pair| (seconds(pair[1].at_ns), Rates::between(pair[0], pair[1], are_shared)))
        .collect();
    let stretch = window.map(|w| Mark::Stretch {
        from: 0.0,
        to: seconds(w.end),
        label: "measured".into(),
        fault: false,
    });
    let bands = fault_bands(repetition, origin);
    let stretch: Vec<Mark> = stretch.into_iter().chain(bands).collect();
    let (first, last) = (rates.first()?.0.min(0.0), rates.last()?.0);
    let x = || Axis::between("seconds since the measurement began", first, last, |v| format!("{v:.2}"));
    let memory: Vec<(f64, f64)> = samples
        .iter()
        .filter_map(|s| Some((seconds(s.at_ns), s.server?.rss_bytes as f64)))
        .filter(|(at, _)| *at >= first)
        .collect();
    let mut scenes = vec![cpu_scene(&rates, x(), stretch.clone())];
    if memory.len() > 1 {
        scenes.push(memory_scene(&memory, x(), stretch));
    }
    let legend = vec![(SERVER, "server".into()), (LOAD, "load generator".into()), (STEAL, "steal".into())];
    Some(Pane { label: cell.record.label(), scenes, legend })
}

/// The faults of a repetition, in seconds from `origin`.
pub(super) fn fault_bands(repetition: &Repetition, origin: u64) -> Vec<Mark> {
    let seconds = |at_ns: u64| (at_ns as f64 - origin as f64) / 1e9;
    let made = repetition.faults.iter().filter(|fault| fault.was_made());
    made.map(|fault| Mark::Stretch {
        from: seconds(fault.began_ns),
        to: seconds(fault.ended_ns.max(fault.began_ns)),
        label: fault.kind.clone(),
        fault: true,
    })
    .collect()
}

fn cpu_scene(rates: &[(f64, Rates)], x: Axis, stretch: Vec<Mark>) -> Scene {
    let of = |read: fn(&Rates) -> Option<f64>| -> Vec<(f64, f64)> {
        rates.iter().filter_map(|(at, r)| Some((*at, read(r)?))).collect()
    };
    let percent = |v: f64| format!("{v:.0}%");
    let cpu_lines = [(SERVER, "server", of(|r| r.server)), (LOAD, "load generator", of(|r| r.load))];
    let steal = of(|r| Some(r.steal));
    let high = cpu_lines.iter().flat_map(|l| &l.2).chain(&steal).map(|p| p.1).fold(0.0, f64::max);
    let mut marks = stretch;
    marks.extend(
        cpu_lines
            .into_iter()
            .filter(|l| !l.2.is_empty())
            .map(|(ink, name, points)| Mark::line(ink, name, points)),
    );
    if steal.iter().any(|p| p.1 >= 0.5) {
        marks.push(Mark::line(STEAL, "steal", steal));
    }
    Scene {
        title: "CPU use".into(),
        hint: "100% is one CPU".into(),
        x,
        y: Axis::from_zero("", high.max(10.0) * HEADROOM, percent),
        marks,
        stops: rates.iter().step_by(rates.len().div_ceil(50)).map(|(at, r)| r.stop(*at)).collect(),
        size: Size::Half,
    }
}

fn memory_scene(points: &[(f64, f64)], x: Axis, stretch: Vec<Mark>) -> Scene {
    let show = |v: f64| figure(v, Unit::Bytes);
    let mib = 1_048_576.0;
    let mut y = Axis::from_zero("", points.iter().map(|p| p.1).fold(0.0, f64::max) * HEADROOM / mib, |v| {
        format!("{v} MiB")
    });
    y.stretch(mib);
    let mut marks = stretch;
    marks.push(Mark::line(SERVER, "server", points.to_vec()));
    let stop = |(at, bytes): &(f64, f64)| Stop {
        at: Anchor::X(*at),
        heading: format!("{at:.1} s"),
        rows: vec![(Some(SERVER), "resident memory".into(), show(*bytes))],
    };
    Scene {
        title: "Resident memory".into(),
        hint: "of the server's processes".into(),
        x,
        y,
        marks,
        stops: points.iter().step_by(points.len().div_ceil(50)).map(stop).collect(),
        size: Size::Half,
    }
}

/// CPU use between two samples, in percent of one CPU.
struct Rates {
    server: Option<f64>,
    user: Option<f64>,
    load: Option<f64>,
    steal: f64,
}

impl Rates {
    /// Shared CPUs are counted once.
    fn between(from: &Sample, to: &Sample, are_shared: bool) -> Rates {
        let steal = |s: &Sample| s.server_cpus.steal_ns + if are_shared { 0 } else { s.load_cpus.steal_ns };
        let elapsed = to.at_ns.saturating_sub(from.at_ns).max(1) as f64;
        let rate = |before: u64, after: u64| after.saturating_sub(before) as f64 / elapsed * 100.0;
        let server = from.server.zip(to.server);
        Rates {
            server: server.map(|(f, t)| rate(f.cpu_ns, t.cpu_ns)),
            user: server.map(|(f, t)| rate(f.user_ns, t.user_ns)),
            load: from.load.zip(to.load).map(|(f, t)| rate(f.cpu_ns, t.cpu_ns)),
            steal: rate(steal(from), steal(to)),
        }
    }

    fn stop(&self, at: f64) -> Stop {
        let percent = |v: f64| format!("{v:.0}%");
        let mut rows = Vec::new();
        rows.extend(self.server.map(|v| (Some(SERVER), "server".to_owned(), percent(v))));
        rows.extend(self.user.map(|v| (None, "of which user".to_owned(), percent(v))));
        rows.extend(self.load.map(|v| (Some(LOAD), "load generator".to_owned(), percent(v))));
        rows.push((Some(STEAL), "steal".to_owned(), percent(self.steal)));
        Stop { at: Anchor::X(at), heading: format!("{at:.1} s"), rows }
    }
}

/// At most [`POINTS_MAX`] samples, evenly spaced: they are counters, so differences stay correct.
fn thinned(samples: &[Sample]) -> Vec<&Sample> {
    samples.iter().step_by(samples.len().div_ceil(POINTS_MAX).max(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitot_record::CpuSample;

    #[test]
    fn steal_of_shared_cpus_counts_once() {
        let cpus = |steal_ns: u64| CpuSample { steal_ns, ..CpuSample::default() };
        let at = |at_ns: u64, steal_ns: u64| Sample {
            at_ns,
            server_cpus: cpus(steal_ns),
            load_cpus: cpus(steal_ns),
            ..Sample::default()
        };
        let (from, to) = (at(0, 0), at(1_000_000, 600_000));
        assert_eq!(Rates::between(&from, &to, true).steal, 60.0);
        assert_eq!(Rates::between(&from, &to, false).steal, 120.0);
    }
}
