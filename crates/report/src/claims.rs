//! Claims of publications, and what a run says of them.

use crate::analysis::{Analysis, Pair, Terms};
use crate::document::{Block, Item};
use crate::number::{figure, interval, ratio};
use crate::text::sentence;
use crate::tone::Tone;
use pitot_plan::{Bounds, Claim};
use pitot_record::metric::find;
use pitot_record::{Metric, Unit};
use serde_json::{Value, json};

/// What a run says of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimVerdict {
    /// The whole interval lies where the claim says.
    Holds,
    /// The whole interval lies where the opposite is true.
    Reversed,
    /// The run does not decide it.
    CannotTell,
}

impl ClaimVerdict {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            ClaimVerdict::Holds => "holds",
            ClaimVerdict::Reversed => "reversed",
            ClaimVerdict::CannotTell => "cannot-tell",
        }
    }

    pub(crate) fn words(self) -> &'static str {
        match self {
            ClaimVerdict::CannotTell => "cannot be told",
            other => other.name(),
        }
    }

    pub(crate) fn tone(self) -> Tone {
        match self {
            ClaimVerdict::Holds => Tone::Good,
            ClaimVerdict::Reversed => Tone::Bad,
            ClaimVerdict::CannotTell => Tone::Care,
        }
    }
}

/// A figure with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Measured {
    value: f64,
    low: f64,
    high: f64,
}

/// A claim, and what a run says of it.
#[derive(Debug)]
pub(crate) struct Conclusion<'r> {
    pub(crate) claim: &'r Claim,
    pub(crate) verdict: ClaimVerdict,
    metric: &'static Metric,
    measured: Option<Measured>,
    /// Why it does not hold; empty if it does.
    why: String,
}

/// What a run says of each claim of its plan.
pub(crate) fn conclusions<'r>(a: &Analysis<'r>) -> Vec<Conclusion<'r>> {
    a.run.plan.claim.iter().map(|claim| conclude(a, claim)).collect()
}

fn conclude<'r>(a: &Analysis<'r>, claim: &'r Claim) -> Conclusion<'r> {
    let metric = find(&claim.metric).unwrap_or(a.headline);
    let (verdict, measured, why) = match figure_of(a, claim, metric) {
        Err(why) => (ClaimVerdict::CannotTell, None, why),
        Ok(measured) => {
            let (verdict, why) = judge(claim, measured);
            (verdict, Some(measured), why)
        }
    };
    Conclusion { claim, verdict, metric, measured, why }
}

/// The verdict on an interval, and the reason if the claim does not hold.
fn judge(claim: &Claim, measured: Measured) -> (ClaimVerdict, String) {
    if claim.holds == Bounds::default() {
        return (ClaimVerdict::CannotTell, claim.because.clone());
    }
    let span = (measured.low, measured.high);
    let is_reversed = match &claim.reversed {
        Some(reversed) => reversed.include(span),
        None => claim.holds.exclude(span),
    };
    if claim.holds.include(span) {
        (ClaimVerdict::Holds, String::new())
    } else if is_reversed {
        (ClaimVerdict::Reversed, claim.because.clone())
    } else {
        let reversed = claim
            .reversed
            .map_or_else(String::new, |reversed| format!(", and is reversed {}", reversed.words()));
        (
            ClaimVerdict::CannotTell,
            format!("it holds {}{reversed}; the interval lies in neither", claim.holds.words()),
        )
    }
}

/// The figure of a claim.
///
/// # Errors
/// Why there is none.
fn figure_of(a: &Analysis<'_>, claim: &Claim, metric: &Metric) -> Result<Measured, String> {
    match Terms::of(a.run, claim, metric)? {
        Terms::Values(cells) => {
            let values = cells.into_iter().map(|cell| value_of(a, cell.id, metric));
            mean(&values.collect::<Result<Vec<_>, _>>()?)
        }
        Terms::Ratios(ratios) if claim.is_difference => {
            let difference = |((cell, other), _): &(Pair<'_>, _)| {
                let (cell, other) = (value_of(a, cell.id, metric)?, value_of(a, other.id, metric)?);
                Ok(Measured {
                    value: cell.value - other.value,
                    low: cell.low - other.high,
                    high: cell.high - other.low,
                })
            };
            let differences: Vec<Measured> = ratios.iter().map(difference).collect::<Result<_, String>>()?;
            let mean =
                |of: fn(&Measured) -> f64| differences.iter().map(of).sum::<f64>() / differences.len() as f64;
            Ok(Measured { value: mean(|m| m.value), low: mean(|m| m.low), high: mean(|m| m.high) })
        }
        Terms::Ratios(ratios) => {
            let of = |(pair, than): &(Pair<'_>, Option<Pair<'_>>)| {
                let own = ratio_of(a, *pair, metric)?;
                let Some(than) = than else { return Ok(own) };
                let than = ratio_of(a, *than, metric)?;
                // As if the errors of both were opposite: never too narrow.
                Ok(Measured {
                    value: own.value / than.value,
                    low: own.low / than.high,
                    high: own.high / than.low,
                })
            };
            mean(&ratios.iter().map(of).collect::<Result<Vec<_>, String>>()?)
        }
    }
}

fn value_of(a: &Analysis<'_>, id: i64, metric: &Metric) -> Result<Measured, String> {
    let cell = a.cells.iter().find(|cell| cell.record.id == id).ok_or("the cell is not in the file")?;
    let estimate = cell.estimate(metric).ok_or_else(|| format!("{} has no figure", a.name_of(cell)))?;
    let interval = estimate.interval.ok_or_else(|| too_few(&a.name_of(cell), estimate.repetitions))?;
    Ok(Measured { value: estimate.value, low: interval.low, high: interval.high })
}

fn ratio_of(a: &Analysis<'_>, (cell, other): Pair<'_>, metric: &Metric) -> Result<Measured, String> {
    let label = cell.label();
    let comparison = a
        .compare(cell, other, metric)
        .ok_or_else(|| format!("{label} and {} cannot be compared", other.label()))?;
    let interval = comparison.interval.ok_or_else(|| too_few(&label, comparison.repetitions))?;
    Ok(Measured { value: comparison.ratio, low: interval.low, high: interval.high })
}

fn too_few(name: &str, repetitions: usize) -> String {
    format!("{repetitions} repetitions of {name} are too few for an interval")
}

/// The geometric mean. Its interval is the mean of the ends, as if the errors of all were the same: never too narrow.
fn mean(figures: &[Measured]) -> Result<Measured, String> {
    if let [only] = figures {
        return Ok(*only);
    }
    let mean = |of: fn(&Measured) -> f64| {
        let logs: f64 = figures.iter().map(|m| of(m).ln()).sum();
        (logs / figures.len() as f64).exp()
    };
    let measured = Measured { value: mean(|m| m.value), low: mean(|m| m.low), high: mean(|m| m.high) };
    measured.value.is_finite().then_some(measured).ok_or_else(|| "a figure of it is zero".to_owned())
}

impl Conclusion<'_> {
    /// The figure as readers see it: `5.2 [4.9, 5.6]`; empty if there is none.
    pub(crate) fn shown(&self) -> String {
        let Some(Measured { value, low, high }) = self.measured else { return String::new() };
        match self.unit() {
            None => format!("{} times [{}, {}]", ratio(value), ratio(low), ratio(high)),
            Some(_) if self.claim.is_difference => {
                format!("{value:.1} points [{low:.1}, {high:.1}]")
            }
            Some(unit) => format!("{} {}", figure(value, unit), interval(value, low, high, unit)),
        }
    }

    pub(crate) fn shown_published(&self) -> String {
        let Some(value) = self.claim.published else { return String::new() };
        match self.unit() {
            None => format!("{value} times"),
            Some(_) if self.claim.is_difference => format!("{value} points"),
            Some(Unit::Percent) => format!("{value}%"),
            Some(Unit::Seconds) => format!("{value} s"),
            Some(unit) => figure(value, unit),
        }
    }

    /// The unit of the figure; none for a ratio.
    fn unit(&self) -> Option<Unit> {
        let is_ratio = (self.claim.to.is_some() && !self.claim.is_difference) || self.claim.over.is_some();
        (!is_ratio).then_some(self.metric.unit)
    }

    /// That its experiment was not run, for a reason.
    pub(crate) fn not_run(self, why: &str) -> Self {
        Conclusion { verdict: ClaimVerdict::CannotTell, measured: None, why: why.to_owned(), ..self }
    }

    /// A line for readers.
    pub(crate) fn item(&self) -> Item {
        let figures = [("measured", self.shown()), ("published", self.shown_published())];
        let figures = figures.into_iter().filter(|(_, shown)| !shown.is_empty());
        let figures: Vec<String> = figures.map(|(name, shown)| format!("{name} {shown}")).collect();
        let why = if self.why.is_empty() { String::new() } else { format!(" {}", sentence(&self.why)) };
        let (id, text) = (&self.claim.id, &self.claim.text);
        let figures =
            if figures.is_empty() { String::new() } else { format!(" {}", sentence(&figures.join(", "))) };
        Item {
            text: format!("{id} **{}**: {}{figures}{why}", self.verdict.words(), sentence(text)),
            tone: Some(self.verdict.tone()),
            more: Vec::new(),
        }
    }

    /// As `conclusions` has it.
    pub(crate) fn json(&self) -> Value {
        json!({
            "claim": self.claim.id,
            "text": self.claim.text,
            "source": self.claim.source,
            "verdict": self.verdict.name(),
            "metric": self.metric.name,
            "published": self.claim.published,
            "measured": self.measured.map(|m| m.value),
            "interval": self.measured.map(|m| json!({"low": m.low, "high": m.high})),
            "why": self.why,
        })
    }
}

/// The claims of a run's plan, with their verdicts; none if it has none.
pub(crate) fn section(a: &Analysis<'_>) -> Option<Block> {
    let conclusions = conclusions(a);
    let sources: Vec<&str> =
        conclusions.iter().map(|c| c.claim.source.as_str()).fold(Vec::new(), |mut all, source| {
            if !all.contains(&source) {
                all.push(source);
            }
            all
        });
    let first = format!("What {} claimed, and what this run says of it.", crate::text::list(&sources));
    let items = Block::List(conclusions.iter().map(Conclusion::item).collect());
    (!conclusions.is_empty())
        .then(|| Block::section("claims", "Claims", vec![Block::paragraph(first), items]))
}
