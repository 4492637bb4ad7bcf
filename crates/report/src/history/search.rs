//! Which commit to measure next, so that a change is found with few runs.

use std::fmt;

use pitot_stats::median;

use super::line::{COMMIT, Line, Point, shortened};

/// A value in the middle third between two levels belongs to neither.
const UNCLEAR: f64 = 1.0 / 6.0;
/// So many runs of a commit that belongs to neither level are enough; then the nearer one counts.
const RUNS_MAX: usize = 3;

/// A search for the commit that changed the level of a line, by bisection: of the commits between the last run of one level and the
/// first of the other, the middle one is measured next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// The last commit of the level before the change.
    pub before: String,
    /// The first one of the level after it.
    pub after: String,
    /// The commit that was measured and belongs to neither.
    pub unclear: Option<String>,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Measure this commit.
    Measure {
        /// The commit.
        commit: String,
        /// How many commits the change can still be in.
        left: usize,
    },
    /// This commit changed the level.
    Found {
        /// The commit.
        commit: String,
        /// The one before it.
        before: String,
    },
}

impl fmt::Display for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Next::Measure { commit, left } => {
                write!(f, "measure {commit} next: the change is in one of {left} commits")
            }
            Next::Found { commit, before } => write!(f, "{commit} changed it; {} had not", shortened(before)),
        }
    }
}

/// The middle of the ends of the intervals of some runs.
fn usual_interval(line: &Line, points: &[Point]) -> Option<[f64; 2]> {
    let intervals: Vec<[f64; 2]> = points.iter().filter_map(|point| line.interval(point)).collect();
    let middle = |end: usize| median(&intervals.iter().map(|interval| interval[end]).collect::<Vec<_>>());
    Some([middle(0)?, middle(1)?])
}

/// Whether two intervals do not overlap.
fn are_apart([low, high]: [f64; 2], [other_low, other_high]: [f64; 2]) -> bool {
    high < other_low || other_high < low
}

/// The logarithms of the levels before and after the last change of a line.
///
/// Without a change, those of its first and last commit, if the intervals of their runs do not overlap. That is less than what tells two
/// runs apart, since an interval within a run knows nothing of other runs, and enough to go on measuring.
fn levels(line: &Line) -> Option<[f64; 2]> {
    let points = &line.points[..];
    let [older, newer] = match (line.changes.last(), points) {
        (Some(change), _) => {
            let from = line.changes.iter().rev().nth(1).map_or(0, |before| before.at);
            [&points[from..change.at], &points[change.at..]]
        }
        (None, [first, .., last]) => {
            let of = |end: &Point| points.iter().filter(|p| p.label(COMMIT) == end.label(COMMIT)).count();
            let (older, rest) = points.split_at(of(first));
            let newer = &rest[rest.len().saturating_sub(of(last))..];
            if !are_apart(usual_interval(line, older)?, usual_interval(line, newer)?) {
                return None;
            }
            [older, newer]
        }
        _ => return None,
    };
    let level = |points: &[Point]| median(&points.iter().map(|p| line.figure(p).ln()).collect::<Vec<_>>());
    Some([level(older)?, level(newer)?])
}

impl Search {
    /// The search in a line; none if nothing seems to have changed.
    ///
    /// # Errors
    /// If a run has no commit: the sentence says which.
    pub fn of(line: &Line) -> Result<Option<Search>, String> {
        let commits: Vec<(&str, &Point)> = line
            .points
            .iter()
            .map(|point| match point.label(COMMIT) {
                Some(commit) => Ok((commit, point)),
                None => Err(format!("{} has no label `{COMMIT}`", point.run.file.display())),
            })
            .collect::<Result<_, _>>()?;
        let Some([low, high]) = levels(line) else { return Ok(None) };
        // The share of the way from the older level to the newer one, by commit in order.
        let mut shares: Vec<(&str, Vec<f64>)> = Vec::new();
        for (commit, point) in commits {
            let share = (line.figure(point).ln() - low) / (high - low);
            match shares.iter_mut().find(|(known, _)| *known == commit) {
                Some((_, all)) => all.push(share),
                None => shares.push((commit, vec![share])),
            }
        }
        let share = |all: &[f64]| median(all).unwrap_or(0.5);
        let Some(last_before) = shares.iter().rposition(|(_, all)| share(all) < 0.5) else { return Ok(None) };
        let Some((after, _)) = shares.get(last_before + 1) else { return Ok(None) };
        let is_unclear =
            |(_, all): &&(&str, Vec<f64>)| (share(all) - 0.5).abs() < UNCLEAR && all.len() < RUNS_MAX;
        let unclear = shares[last_before..=last_before + 1].iter().find(is_unclear);
        Ok(Some(Search {
            before: shares[last_before].0.to_owned(),
            after: (*after).to_owned(),
            unclear: unclear.map(|(commit, _)| (*commit).to_owned()),
        }))
    }

    /// What to do next. `between`: the commits after the one before the change, the oldest first, up to the one after it.
    pub fn next(&self, between: &[String]) -> Next {
        let left = between.len();
        match (&self.unclear, between) {
            (Some(commit), _) => Next::Measure { commit: commit.clone(), left },
            (None, [only]) => Next::Found { commit: only.clone(), before: self.before.clone() },
            (None, []) => Next::Found { commit: self.after.clone(), before: self.before.clone() },
            (None, _) => Next::Measure { commit: between[left / 2 - 1].clone(), left },
        }
    }
}
