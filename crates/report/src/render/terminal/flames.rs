//! A flame graph as a tree in lines: each function below its caller, those with the most time first.

use super::screen::Page;
use super::table::{shortened, table};
use crate::document::{Column, Entry, Flame, Table};
use crate::number::{figure, percent, signed_ns};
use crate::text::s;
use crate::tone::Tone;
use pitot_record::Unit;

/// So many lines are drawn.
const LINES_MAX: usize = 40;
/// A function that spends this part of its time in one that it calls shares a line with it.
const CHAIN: f64 = 0.99;
/// The columns before the names: share, time, and difference.
const BESIDE: [usize; 3] = [8, 10, 12];
/// Names are not cut to less than this.
const NAME_MIN: usize = 8;

pub(super) fn tree(out: &mut Page, root: &Flame) {
    let mut all = vec![Row { depth: 0, first: root, last: root }];
    root.calls.iter().for_each(|call| flatten(call, 1, &mut all));
    let weight = |at: usize| all[at].first.weight;
    // The sort keeps callers before what they call where both have the same weight.
    let mut hottest: Vec<usize> = (0..all.len()).filter(|&at| weight(at) >= Flame::LINE_SHARE_MIN).collect();
    hottest.sort_by(|&x, &y| weight(y).total_cmp(&weight(x)));
    let more = hottest.len().saturating_sub(LINES_MAX);
    hottest.truncate(LINES_MAX);
    hottest.sort_unstable();
    let kept: Vec<Row<'_>> = hottest.into_iter().map(|at| all[at]).collect();
    let difference = root.baseline_ns.map(|_| Column::of("difference"));
    let beside: usize = BESIDE.iter().take(if difference.is_some() { 3 } else { 2 }).sum();
    let room = out.width().saturating_sub(beside + 2).max(2 * NAME_MIN);
    let mut rows = Vec::new();
    branches(&kept, "", &mut |lead, row| {
        let flame = row.first;
        let change = flame.change_ns().map(|ns| Entry { tone: tone(ns / root.ns), ..signed_ns(ns).into() });
        let name = shortened(&row.name(), room.saturating_sub(lead.chars().count()).max(NAME_MIN));
        let name = Entry::from(format!("{lead}{name}"));
        let time = Entry::from(figure(flame.ns, Unit::Nanoseconds));
        let entries = std::iter::once(time).chain(change).chain([name]).collect();
        rows.push((format!("{:>6}", percent(flame.share)), entries));
    });
    let time = Column { rank: 1, ..Column::of("CPU time") };
    let columns = std::iter::once(time).chain(difference).chain([Column::of_words("function")]).collect();
    let mut drawn = Table::plain("", &format!("{:>6}", "share"), columns, rows);
    if more > 0 {
        drawn.legend = format!(
            "{more} more line{} with at least {} of the time.",
            s(more),
            percent(Flame::LINE_SHARE_MIN)
        );
    }
    table(out, &drawn);
}

/// A line: functions of which each spends nearly all of its time in the next.
#[derive(Clone, Copy)]
struct Row<'f> {
    depth: usize,
    first: &'f Flame,
    last: &'f Flame,
}

impl<'f> Row<'f> {
    fn of(depth: usize, first: &'f Flame) -> Row<'f> {
        let part = |ns: f64, of: f64| ns >= CHAIN * of;
        let baseline = |flame: &Flame| flame.baseline_ns.unwrap_or(0.0);
        let is_all = |call: &&Flame| part(call.ns, first.ns) && part(baseline(call), baseline(first));
        let mut last = first;
        while let Some(next) = last.calls.iter().find(is_all) {
            last = next;
        }
        Row { depth, first, last }
    }

    /// `main`, `main > serve` if it calls that, or `main … serve` if others are between.
    fn name(self) -> String {
        let (first, last) = (&self.first.name, &self.last.name);
        match (
            std::ptr::eq(self.first, self.last),
            self.first.calls.iter().any(|call| std::ptr::eq(call, self.last)),
        ) {
            (true, _) => first.clone(),
            (_, true) => format!("{first} > {last}"),
            _ => format!("{first} … {last}"),
        }
    }
}

/// A function and all below it in rows, each after its caller.
fn flatten<'f>(flame: &'f Flame, depth: usize, all: &mut Vec<Row<'f>>) {
    let row = Row::of(depth, flame);
    all.push(row);
    row.last.calls.iter().for_each(|call| flatten(call, depth + 1, all));
}

/// Gives each row the branches that lead to it. One that is alone below its caller stands right below it, without a branch: stacks
/// are deep, and lines are short.
fn branches(rows: &[Row<'_>], lead: &str, look: &mut dyn FnMut(&str, Row<'_>)) {
    let Some(top) = rows.first() else { return };
    let starts: Vec<usize> = (0..rows.len()).filter(|&at| rows[at].depth == top.depth).collect();
    for (number, &start) in starts.iter().enumerate() {
        let end = starts.get(number + 1).copied().unwrap_or(rows.len());
        let (branch, below) = match (starts.len(), end == rows.len()) {
            (1, _) => ("", ""),
            (_, false) => ("├ ", "│ "),
            (_, true) => ("└ ", "  "),
        };
        look(&format!("{lead}{branch}"), rows[start]);
        branches(&rows[start + 1..end], &format!("{lead}{below}"), look);
    }
}

/// Differences of a share of the time that is shown have a colour.
fn tone(change: f64) -> Option<Tone> {
    let tone = if change > 0.0 { Tone::Bad } else { Tone::Good };
    (change.abs() >= Flame::LINE_SHARE_MIN).then_some(tone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::Screen;

    fn flame(name: &str, ns: f64, baseline_ns: Option<f64>, calls: Vec<Flame>) -> Flame {
        let share = ns / 1_000.0;
        Flame {
            name: name.into(),
            ns,
            baseline_ns,
            share,
            weight: share.max(baseline_ns.unwrap_or(0.0) / 1_000.0),
            calls,
        }
    }

    fn drawn(root: &Flame, width: usize) -> String {
        let mut page = Page::new(Screen { width, is_coloured: false });
        tree(&mut page, root);
        page.finish().to_string()
    }

    fn compared() -> Flame {
        let leaf = |name: &str, ns: f64, baseline_ns: f64| flame(name, ns, Some(baseline_ns), Vec::new());
        let one = |name: &str, ns: f64, baseline_ns: f64, call: Flame| {
            flame(name, ns, Some(baseline_ns), vec![call])
        };
        let copies =
            vec![leaf("memcpy", 500.0, 200.0), leaf("a<b>::next", 100.0, 100.0), leaf("rare", 9.0, 9.0)];
        let inner = flame("inner", 690.0, Some(240.0), copies);
        let write = one("entry", 200.0, 200.0, one("write", 199.0, 199.0, leaf("vfs_write", 199.0, 199.0)));
        let calls = vec![one("copy", 700.0, 300.0, inner), write, leaf("gone", 0.0, 50.0)];
        let serve = flame("serve", 995.0, Some(650.0), calls);
        flame("head", 1_000.0, Some(650.0), vec![one("main", 1_000.0, 650.0, serve)])
    }

    #[test]
    fn what_is_called_stands_below_its_caller_the_largest_first() {
        let expected = "   share  CPU time  difference  function
    100%   1.00 µs     +350 ns  head
    100%   1.00 µs     +350 ns  main > serve
     70%    700 ns     +400 ns  ├ copy
     69%    690 ns     +450 ns  │ inner
     50%    500 ns     +300 ns  │ ├ memcpy
     10%    100 ns        +0 s  │ └ a<b>::next
     20%    200 ns        +0 s  ├ entry … vfs_write
      0%       0 s    -50.0 ns  └ gone
";
        assert_eq!(drawn(&compared(), 80), expected);
    }

    #[test]
    fn a_narrow_screen_drops_the_time_and_cuts_names() {
        let mut root = compared();
        root.calls[0].calls[0].calls[0].name = "core::ops::function::FnOnce::call_once".into();
        let text = drawn(&root, 40);
        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
        assert!(text.contains("├ core::o…l_once\n") && !text.contains("CPU time"), "{text}");
    }

    #[test]
    fn only_the_hottest_lines_are_drawn_and_none_without_its_callers() {
        let deep =
            |calls, depth| vec![flame(&format!("f{depth}"), 900.0 - 10.0 * f64::from(depth), None, calls)];
        let deep = (0..60).rev().fold(Vec::new(), deep);
        let others = (0..20).map(|number| flame(&format!("g{number}"), 50.0, None, Vec::new()));
        let root = flame("all", 1_000.0, None, deep.into_iter().chain(others).collect());
        let text = drawn(&root, 80);
        assert_eq!(text.lines().count(), 1 + LINES_MAX + 1, "{text}");
        assert!(text.contains("  f38\n") && !text.contains("f39") && !text.contains("g0"), "{text}");
        assert!(text.ends_with("41 more lines with at least 1% of the time.\n"), "{text}");
        assert!(!text.contains("difference"));
    }
}
