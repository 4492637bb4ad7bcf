//! Change points: steps of the level, and bends after which a figure grows at another rate.
//!
//! One after the other (binary segmentation; Vostrikova, "Detecting disorder in multidimensional random
//! processes", Soviet Mathematics Doklady 24, 1981), that step or bend is taken which explains most beside a line
//! and the changes found before, as in the supremum tests of Andrews, "Tests for parameter instability and structural change with unknown change point",
//! Econometrica 61, 1993. Whether it is more than noise is asked of simulated noise (`noise`) that is
//! searched in the same way, so that neither the search nor the autocorrelation makes changes.

use pitot_meter::Random;

use super::grid::Grid;
use super::linear::{Design, dot};
use super::noise::{Noise, noise_around};

/// The chance of a change being found in noise around a line.
pub(crate) const LEVEL: f64 = 0.01;

/// Changes that are sought at most.
const MOST: usize = 3;

/// What changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The level; the size is in units of the figure.
    Step,
    /// The slope; the size is in units of the figure per hour.
    Bend,
}

/// A change of a figure at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Step or bend.
    pub kind: Kind,
    /// When, in seconds since the start of the run: of a step, the middle between the last interval before and the
    /// first after.
    pub seconds: f64,
    /// Where that time lies with 95% confidence.
    pub between: [f64; 2],
    /// By how much: after less before.
    pub size: f64,
    /// Where the size lies with 95% confidence.
    pub interval: [f64; 2],
    /// The chance of so clear a change in noise around a line.
    pub p: f64,
}

/// A kind of change at a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Feature {
    pub kind: Kind,
    /// The first bin that it concerns.
    pub bin: usize,
}

impl Feature {
    /// What the change adds at each time (in hours), per unit of its size.
    pub fn column(self, hours: &[f64]) -> Vec<f64> {
        let from = hours[self.bin];
        hours
            .iter()
            .enumerate()
            .map(|(bin, t)| match self.kind {
                Kind::Step => f64::from(u8::from(bin >= self.bin)),
                Kind::Bend => (t - from).max(0.0),
            })
            .collect()
    }
}

/// Line and changes of a series.
pub(crate) struct Shape {
    /// A constant, the time in hours, then one column for each of `features`.
    pub design: Design,
    pub features: Vec<Feature>,
    /// What was found out about each of `features`.
    pub changes: Vec<Change>,
}

impl Shape {
    /// What is left of the values, as noise.
    pub fn noise(&self, places: &[usize], values: &[f64]) -> Noise {
        noise_around(&self.design, places, values, self.features.len())
    }
}

/// The changes of the values of a grid at the times `hours`, in the order in which they were found.
pub(crate) fn shape(grid: &Grid, hours: &[f64], resamples: usize, random: &mut Random) -> Option<Shape> {
    let n = hours.len();
    let mut shape = Shape {
        design: Design::new(vec![vec![1.0; n], hours.to_vec()])?,
        features: Vec::new(),
        changes: Vec::new(),
    };
    let most = MOST.min(n / 20);
    while shape.features.len() < most {
        let search = Search::new(&shape.design, hours);
        let first = shape.features.is_empty();
        let instead = if first { Search::instead_of_line(hours) } else { None };
        let mut found = None;
        for search in instead.iter().chain([&search]) {
            found = search.found(grid, shape.features.len() + 1, resamples, random);
            if found.is_some() {
                break;
            }
        }
        let Some((found, p)) = found else { break };
        let mut columns = shape.design.columns().to_vec();
        columns.push(found.column(hours));
        let Some(with) = Design::new(columns) else { break };
        let noise = noise_around(&with, &grid.places, &grid.values, shape.features.len() + 1);
        let change = measure(grid, hours, &search, &shape.design, &with, found, &noise, p, random);
        shape.design = with;
        shape.features.push(found);
        shape.changes.push(change);
    }
    // Sizes beside each other, now that all are known.
    let sizes = shape.design.coefficients(&grid.values);
    for (change, size) in shape.changes.iter_mut().zip(&sizes[2..]) {
        let shift = size - change.size;
        change.size = *size;
        change.interval = change.interval.map(|end| end + shift);
    }
    Some(shape)
}

/// The change with its intervals, of series that are simulated with it.
#[allow(clippy::too_many_arguments, reason = "one call, of what one search has")]
fn measure(
    grid: &Grid,
    hours: &[f64],
    search: &Search,
    without: &Design,
    with: &Design,
    found: Feature,
    noise: &Noise,
    p: f64,
    random: &mut Random,
) -> Change {
    const SERIES: usize = 199;
    let column = found.column(hours);
    let last = with.columns().len() - 1;
    let size = with.coefficients(&grid.values)[last];
    let (mut times, mut sizes) = (Vec::with_capacity(SERIES), Vec::with_capacity(SERIES));
    let mut drawn = Vec::new();
    for _ in 0..SERIES {
        noise.draw(&grid.places, random, &mut drawn);
        sizes.push(size - with.coefficients(&drawn)[last]);
        for (value, x) in drawn.iter_mut().zip(&column) {
            *value += size * x;
        }
        if let Some(again) = search.clearest_of(found.kind, &without.residuals(&drawn)) {
            times.push(time(grid, again));
        }
    }
    times.push(time(grid, found));
    Change {
        kind: found.kind,
        seconds: time(grid, found),
        between: middle_95(&mut times),
        size,
        interval: middle_95(&mut sizes),
        p,
    }
}

/// When a feature begins, in seconds.
fn time(grid: &Grid, feature: Feature) -> f64 {
    match feature.kind {
        Kind::Step => f64::midpoint(grid.seconds[feature.bin - 1], grid.seconds[feature.bin]),
        Kind::Bend => grid.seconds[feature.bin],
    }
}

/// The 2.5% and 97.5% points.
fn middle_95(values: &mut [f64]) -> [f64; 2] {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    [at(0.025), at(0.975)]
}

/// All steps and bends that could be, beside a design or instead of a line.
struct Search {
    /// What all have.
    design: Design,
    /// A column that they do without.
    rival: Option<Vec<f64>>,
    candidates: Vec<Candidate>,
}

struct Candidate {
    feature: Feature,
    column: Vec<f64>,
    /// What the design leaves of the column, scaled to length 1.
    direction: Vec<f64>,
}

impl Search {
    /// Steps and bends beside all that `design` has.
    fn new(design: &Design, hours: &[f64]) -> Search {
        let candidates = features(hours.len()).map(|feature| (feature, feature.column(hours)));
        Search {
            design: design.clone(),
            rival: None,
            candidates: candidates
                .filter_map(|(feature, column)| Candidate::new(feature, column, design))
                .collect(),
        }
    }

    /// A level that steps once, growth that ends and growth that begins, each with a level at the other side, instead
    /// of a line through all: where they are true they show more clearly than beside a line, which would take most
    /// of it.
    fn instead_of_line(hours: &[f64]) -> Option<Search> {
        let design = Design::new(vec![vec![1.0; hours.len()]])?;
        let mut candidates = Vec::new();
        for feature in features(hours.len()) {
            let column = feature.column(hours);
            if feature.kind == Kind::Bend {
                let until = hours.iter().zip(&column).map(|(t, after)| t - after).collect();
                candidates.extend(Candidate::new(feature, until, &design));
            }
            candidates.extend(Candidate::new(feature, column, &design));
        }
        let line = Candidate::new(Feature { kind: Kind::Bend, bin: 0 }, hours.to_vec(), &design)?;
        Some(Search { design, rival: Some(line.direction), candidates })
    }

    /// The clearest feature of a grid's values and its p-value, if that is one.
    fn found(
        &self,
        grid: &Grid,
        searched: usize,
        resamples: usize,
        random: &mut Random,
    ) -> Option<(Feature, f64)> {
        let (found, clear) = self.clearest(&self.design.residuals(&grid.values))?;
        let mut columns = self.design.columns().to_vec();
        columns.push(found.column.clone());
        // Noise is taken from what is left with the change, or a real change would pass for autocorrelation.
        let noise = noise_around(&Design::new(columns)?, &grid.places, &grid.values, searched);
        let mut drawn = Vec::with_capacity(grid.values.len());
        let mut as_clear = 0;
        for _ in 0..resamples {
            noise.draw(&grid.places, random, &mut drawn);
            let clearest = self.clearest(&self.design.residuals(&drawn));
            as_clear += usize::from(clearest.is_some_and(|(_, other)| other >= clear));
        }
        let p = (as_clear + 1) as f64 / (resamples + 1) as f64;
        (p <= LEVEL).then_some((found.feature, p))
    }

    /// The candidate that leaves least of `left`, and how many times more is left without it.
    fn clearest(&self, left: &[f64]) -> Option<(&Candidate, f64)> {
        let all = dot(left, left);
        let (candidate, explained) = self.best(left, |_| true)?;
        let without = all - self.rival.as_ref().map_or(0.0, |line| dot(line, left).powi(2));
        (all > 0.0 && explained > 0.0).then(|| (candidate, without / (all - explained).max(1e-12 * all)))
    }

    fn clearest_of(&self, kind: Kind, left: &[f64]) -> Option<Feature> {
        self.best(left, |feature| feature.kind == kind).map(|(candidate, _)| candidate.feature)
    }

    fn best(&self, left: &[f64], among: impl Fn(Feature) -> bool) -> Option<(&Candidate, f64)> {
        let candidates = self.candidates.iter().filter(|candidate| among(candidate.feature));
        candidates
            .map(|candidate| (candidate, dot(&candidate.direction, left).powi(2)))
            .max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

impl Candidate {
    /// `None` for what the design nearly has already.
    fn new(feature: Feature, column: Vec<f64>, design: &Design) -> Option<Candidate> {
        let mut direction = design.residuals(&column);
        let square = dot(&direction, &direction);
        if square <= 1e-6 * dot(&column, &column) {
            return None;
        }
        direction.iter_mut().for_each(|x| *x /= square.sqrt());
        Some(Candidate { feature, column, direction })
    }
}

/// Every change that `n` bins can show: with some bins before it, and for a bend more after it.
fn features(n: usize) -> impl Iterator<Item = Feature> {
    let edge = (n / 20).max(3);
    let after_bend = (n / 10).max(5);
    let steps = (edge..=n.saturating_sub(edge)).map(|bin| Feature { kind: Kind::Step, bin });
    steps.chain((edge..=n.saturating_sub(after_bend)).map(|bin| Feature { kind: Kind::Bend, bin }))
}
