//! Where the server's CPU time goes: its own code, or the kernel.

use super::{Chart, by_level, pane_per_level};
use crate::analysis::{Analysis, known};
use crate::axis::Axis;
use crate::number::{figure, percent, spread};
use crate::scene::{Figure, Ink, Mark, Pane, Place, Scene, Size, Stop};
use pitot_lab::Unit;

pub(super) const CHART: Chart = Chart {
    name: "cpu-split",
    title: "CPU time of a request",
    summary: "The server's CPU time for one request, split into its own code (user) and the kernel's work on its behalf \
              (system). The thin line is the 95% interval of the whole. It wanders less than throughput does, and it \
              is what a bill is made of.",
    draw,
};

fn draw(a: &Analysis<'_>) -> Option<Figure> {
    by_level(a, pane_per_level(a, |level| pane(a, level)), String::new())
}

fn pane(a: &Analysis<'_>, level: usize) -> Option<Pane> {
    let (whole, user, system) =
        (known("cpu-per-request"), known("user-per-request"), known("system-per-request"));
    let mut cells: Vec<_> = a
        .at_level(level, whole)
        .filter_map(|(cell, e)| Some((cell, e, cell.estimate(user)?.value, cell.estimate(system)?.value)))
        .collect();
    cells.sort_by(|x, y| x.1.value.total_cmp(&y.1.value));
    let show = |value: f64| figure(value, Unit::Nanoseconds);
    let high = cells.iter().map(|c| c.1.span().1.max(c.2 + c.3)).reduce(f64::max)?;
    let mut marks = Vec::new();
    let mut stops = Vec::new();
    for (row, (cell, estimate, user, system)) in cells.iter().enumerate() {
        let series = Some(cell.series);
        let (low, up) = estimate.span();
        let end = (user + system).max(up);
        marks.push(Mark::Bar { ink: Ink::Part(0), series, row, from: 0.0, to: *user });
        marks.push(Mark::Bar { ink: Ink::Part(3), series, row, from: *user, to: user + system });
        marks.push(Mark::Reach { series, row, low, high: up });
        marks.push(Mark::Label { series, row, x: end, text: show(estimate.value) });
        stops.push(Stop {
            at: Place::Row(row),
            heading: format!("{} {}", a.series_of(cell), a.load_words(level)),
            rows: vec![
                (
                    None,
                    "in all".into(),
                    format!("{} {}", show(estimate.value), spread(estimate, Unit::Nanoseconds)),
                ),
                (
                    Some(Ink::Part(0)),
                    "user".into(),
                    format!("{} ({})", show(*user), percent(user / (user + system))),
                ),
                (
                    Some(Ink::Part(3)),
                    "system".into(),
                    format!("{} ({})", show(*system), percent(system / (user + system))),
                ),
            ],
        });
    }
    let scene = Scene {
        title: "CPU time per request".into(),
        hint: "lower is better".into(),
        x: Axis::from_zero("", high * 1.12, show),
        y: Axis::rows(cells.iter().map(|(cell, ..)| a.series_of(cell).to_owned())),
        marks,
        stops,
        size: Size::Rows,
    };
    let legend =
        vec![(Ink::Part(0), "user: its own code".into()), (Ink::Part(3), "system: the kernel".into())];
    Some(Pane { label: String::new(), scenes: vec![scene], legend })
}
