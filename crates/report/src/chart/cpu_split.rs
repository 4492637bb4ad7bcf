//! Where the server's CPU time goes: its own code, or the kernel.

use super::entry::Chart;
use super::levels::{by_level, label_at, within_reach};
use crate::analysis::Analysis;
use crate::axis::Axis;
use crate::number::{figure, figure_with_spread, percent};
use crate::scene::{Anchor, Figure, Ink, Mark, Pane, Scene, Size, Stop};
use pitot_record::Metric;
use pitot_record::metric::named;

const WHOLE: &Metric = named("cpu-per-request");
const USER: &Metric = named("user-per-request");
const SYSTEM: &Metric = named("system-per-request");
const USER_INK: Ink = Ink::Part(0);
const SYSTEM_INK: Ink = Ink::Part(3);

pub(super) const CHART: Chart = Chart {
    name: "cpu-split",
    title: "CPU time of a request",
    summary: "The server's CPU time for one request: its own code (user) and the kernel's work for it (system). The thin line is \
              the interval of the total; an arrow means that it continues beyond the frame. CPU time varies less than \
              throughput, and it is what a server costs.",
    draw,
};

fn draw(a: &Analysis<'_>) -> Option<Figure> {
    by_level(a, |level| pane(a, level))
}

/// The total, split in the ratio of `user` and `system`: medians do not add up.
fn parts(total: f64, user: f64, system: f64) -> (f64, f64) {
    let share = if user + system > 0.0 { user / (user + system) } else { 0.0 };
    (total * share, total * (1.0 - share))
}

fn pane(a: &Analysis<'_>, level: usize) -> Option<Pane> {
    let mut cells: Vec<_> = a
        .at_level(level, WHOLE)
        .filter_map(|(cell, e)| {
            let parts = parts(e.value, cell.estimate(USER)?.value, cell.estimate(SYSTEM)?.value);
            Some((cell, e, parts.0, parts.1))
        })
        .collect();
    cells.sort_by(|x, y| x.1.value.total_cmp(&y.1.value));
    let show = |value: f64| figure(value, WHOLE.unit);
    let wholes = cells.iter().map(|c| c.1.value.max(c.2 + c.3));
    let reach = within_reach(wholes, cells.iter().map(|c| c.1.span().1));
    let high = reach.into_iter().reduce(f64::max)?;
    let x = Axis::from_zero("", high * 1.12, show);
    let mut marks = Vec::new();
    let mut stops = Vec::new();
    for (row, (cell, estimate, user, system)) in cells.iter().enumerate() {
        let series = Some(cell.series);
        let (low, up) = estimate.span();
        marks.push(Mark::Bar { ink: USER_INK, series, row, from: 0.0, to: *user });
        marks.push(Mark::Bar { ink: SYSTEM_INK, series, row, from: *user, to: user + system });
        marks.push(Mark::Reach { series, row, low, high: up });
        marks.push(Mark::Label {
            series,
            row,
            x: label_at(&x, user + system, up),
            text: show(estimate.value),
        });
        stops.push(Stop {
            at: Anchor::Row(row),
            heading: format!("{} {}", a.series_of(cell), a.load_words(level)),
            rows: vec![
                (None, "total".into(), figure_with_spread(WHOLE, estimate)),
                (
                    Some(USER_INK),
                    "user".into(),
                    format!("{} ({})", show(*user), percent(user / (user + system))),
                ),
                (
                    Some(SYSTEM_INK),
                    "system".into(),
                    format!("{} ({})", show(*system), percent(system / (user + system))),
                ),
            ],
        });
    }
    let scene = Scene {
        title: "CPU time per request".into(),
        hint: WHOLE.hint().into(),
        x,
        y: Axis::rows(cells.iter().map(|(cell, ..)| a.series_of(cell).to_owned())),
        marks,
        stops,
        size: Size::Rows,
    };
    let legend =
        vec![(USER_INK, "user: the server's own code".into()), (SYSTEM_INK, "system: the kernel".into())];
    Some(Pane { label: String::new(), scenes: vec![scene], legend })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_parts_of_a_bar_add_up_to_its_label() {
        let (user, system) = super::parts(15.9, 7.09, 7.82);
        assert!((user + system - 15.9).abs() < 1e-9 && (user / system - 7.09 / 7.82).abs() < 1e-9);
        assert_eq!(super::parts(0.0, 0.0, 0.0), (0.0, 0.0));
    }
}
