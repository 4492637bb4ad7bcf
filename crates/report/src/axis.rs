//! Axes: how values become positions, and where the ticks are.

#[derive(Clone, Debug)]
pub struct Axis {
    /// What it counts; empty where the scene's title says it.
    pub title: String,
    pub scale: Scale,
    pub ticks: Vec<(f64, String)>,
}

/// How values become positions between 0 and 1.
#[derive(Clone, Debug, PartialEq)]
pub enum Scale {
    /// Equal steps are equal differences.
    Linear { low: f64, high: f64 },
    /// Equal steps are equal ratios.
    Log { low: f64, high: f64 },
    /// The values 0, 1, 2 ... are at the middles of equal steps, from 0 to 1.
    Steps(usize),
}

impl Scale {
    /// The position of `value`: 0 to 1 for values on the axis.
    pub fn position(&self, value: f64) -> f64 {
        match *self {
            Scale::Linear { low, high } => (value - low) / (high - low),
            // Values that are not positive have no logarithm and are drawn at the lower end.
            Scale::Log { low, .. } if value <= low => 0.0,
            Scale::Log { low, high } => (value / low).ln() / (high / low).ln(),
            Scale::Steps(count) => (value + 0.5) / count as f64,
        }
    }
}

/// Levels that span more than this are spaced by their ratios.
const LOG_LEVELS_FROM: f64 = 5.0;
/// Levels that start at zero and span more than this from the second on are spaced evenly.
const LINEAR_LEVELS_TO: f64 = 20.0;

/// A logarithmic axis spans nine decades at most.
const DECADES_MAX: f64 = 1e-9;

impl Axis {
    /// Multiplies a linear axis, whose numbers were of another unit.
    pub(crate) fn stretch(&mut self, factor: f64) {
        if let Scale::Linear { low, high } = &mut self.scale {
            (*low, *high) = (*low * factor, *high * factor);
        }
        self.ticks.iter_mut().for_each(|(value, _)| *value *= factor);
    }

    pub(crate) fn end(&self) -> f64 {
        match self.scale {
            Scale::Linear { high, .. } | Scale::Log { high, .. } => high,
            Scale::Steps(count) => count as f64 - 0.5,
        }
    }

    pub(crate) fn start(&self) -> f64 {
        match self.scale {
            Scale::Linear { low, .. } | Scale::Log { low, .. } => low,
            Scale::Steps(_) => -0.5,
        }
    }

    /// An axis from zero, or a logarithmic one if the values differ by more than `log_from` times, with ticks at round values.
    pub fn of_values(
        title: &str,
        values: impl IntoIterator<Item = f64>,
        log_from: f64,
        show: impl Fn(f64) -> String,
    ) -> Axis {
        let (mut low, mut high) = (f64::INFINITY, 0.0f64);
        for value in values.into_iter().filter(|v| v.is_finite() && *v >= 0.0) {
            high = high.max(value);
            if value > 0.0 {
                low = low.min(value);
            }
        }
        if high > 0.0 && high / low > log_from {
            Axis::log(title, low, high, show)
        } else {
            Axis::from_zero(title, high, show)
        }
    }

    /// A linear axis from zero to a round value above `high`.
    pub fn from_zero(title: &str, high: f64, show: impl Fn(f64) -> String) -> Axis {
        let high = if high > 0.0 { high } else { 1.0 };
        let count_of = |step: f64| (high / step - 1e-9).ceil().max(1.0);
        let mut step = round_step(high / 4.5);
        // A finer step where a fifth of the axis would stay empty.
        if count_of(step) * step > high * 1.25 {
            step = round_step(step * 0.45);
        }
        let count = count_of(step) as usize;
        let ticks = (0..=count).map(|i| i as f64 * step).map(|v| (v, trim(&show(v)))).collect();
        Axis { title: title.into(), scale: Scale::Linear { low: 0.0, high: count as f64 * step }, ticks }
    }

    /// A linear axis that ends exactly at `low` and `high`, with round ticks between.
    pub fn between(title: &str, low: f64, high: f64, show: impl Fn(f64) -> String) -> Axis {
        let high = if high > low { high } else { low + 1.0 };
        let step = round_step((high - low) / 6.0);
        let first = (low / step - 1e-9).ceil() as i64;
        let last = (high / step + 1e-9).floor() as i64;
        let ticks = (first..=last).map(|i| i as f64 * step).map(|v| (v, trim(&show(v)))).collect();
        Axis { title: title.into(), scale: Scale::Linear { low, high }, ticks }
    }

    /// A logarithmic axis from a round value below `low` to one above `high`.
    pub fn log(title: &str, low: f64, high: f64, show: impl Fn(f64) -> String) -> Axis {
        // What is not positive has no place on it, and stands at its lower end.
        let high = if high.is_finite() { high.max(f64::MIN_POSITIVE * 1e9) } else { 1.0 };
        let low = low.max(high * DECADES_MAX);
        let decades = (high / low).log10();
        let steps: &[f64] = if decades > 3.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let mut rounds = Vec::new();
        for exponent in low.log10().floor() as i32..=high.log10().ceil() as i32 {
            rounds.extend(steps.iter().map(|s| s * 10f64.powi(exponent)));
        }
        let first = rounds.iter().rposition(|v| *v <= low * (1.0 + 1e-9)).unwrap_or(0);
        let last =
            rounds.iter().position(|v| *v >= high * (1.0 - 1e-9)).unwrap_or(rounds.len() - 1).max(first + 1);
        let ticks: Vec<_> = rounds[first..=last].iter().map(|v| (*v, trim(&show(*v)))).collect();
        Axis { title: title.into(), scale: Scale::Log { low: rounds[first], high: rounds[last] }, ticks }
    }

    /// An axis with a tick at each measured level: logarithmic if they are far apart, in equal steps if a zero or a word
    /// among them prevents that.
    pub fn of_levels(title: &str, levels: &[(String, Option<f64>)]) -> (Axis, Vec<f64>) {
        let numbers: Option<Vec<f64>> = levels.iter().map(|(_, number)| *number).collect();
        let rising = |n: &Vec<f64>| n.len() > 1 && n.windows(2).all(|pair| pair[0] < pair[1]);
        let (scale, positions) = match numbers.filter(rising) {
            Some(n) if n[0] > 0.0 && n[n.len() - 1] / n[0] > LOG_LEVELS_FROM => {
                // A little room on both sides keeps the first and last dots off the frame.
                let room = (n[n.len() - 1] / n[0]).powf(0.03);
                (Scale::Log { low: n[0] / room, high: n[n.len() - 1] * room }, n)
            }
            Some(n) if n[n.len() - 1] / n[1] <= LINEAR_LEVELS_TO && (n.len() > 2 || n[0] > 0.0) => {
                let room = (n[n.len() - 1] - n[0]) * 0.03;
                (Scale::Linear { low: n[0] - room, high: n[n.len() - 1] + room }, n)
            }
            _ => (Scale::Steps(levels.len().max(1)), (0..levels.len()).map(|i| i as f64).collect()),
        };
        let ticks =
            positions.iter().zip(levels).map(|(position, (text, _))| (*position, text.clone())).collect();
        (Axis { title: title.into(), scale, ticks }, positions)
    }

    pub fn rows(names: impl IntoIterator<Item = String>) -> Axis {
        let ticks: Vec<_> = names.into_iter().enumerate().map(|(i, name)| (i as f64, name)).collect();
        Axis { title: String::new(), scale: Scale::Steps(ticks.len().max(1)), ticks }
    }
}

/// The round number (1, 2 or 5 times a power of ten) nearest above `rough`.
fn round_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 2.5, 5.0, 10.0].iter().map(|s| s * power).find(|s| *s >= rough * 0.999_999).unwrap_or(power)
}

/// A round figure needs no trailing zeros: `20.0 k` is `20 k`, `1.50 ms` is `1.5 ms`.
pub(crate) fn trim(text: &str) -> String {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    if number.parse() == Ok(0.0) {
        "0".into()
    } else if number.contains('.') {
        format!("{}{unit}", number.trim_end_matches('0').trim_end_matches('.'))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithmic_axis_has_an_end_whatever_its_values_are() {
        for (low, high) in
            [(0.0, 2.0), (-1.0, 1.0), (f64::NAN, 1.0), (1e-300, 1e300), (0.0, 0.0), (1.0, f64::INFINITY)]
        {
            let axis = Axis::log("", low, high, |value| value.to_string());
            assert!((1..40).contains(&axis.ticks.len()), "{low} {high}: {}", axis.ticks.len());
        }
    }

    fn texts(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, text)| text.as_str()).collect()
    }

    fn show(value: f64) -> String {
        crate::number::figure(value, pitot_record::Unit::PerSecond)
    }

    #[test]
    fn a_linear_axis_starts_at_zero_and_ends_at_a_round_value() {
        let axis = Axis::of_values("", [38_000.0, 142_000.0], 50.0, show);
        assert_eq!(axis.scale, Scale::Linear { low: 0.0, high: 150_000.0 });
        assert_eq!(texts(&axis), ["0", "50 k", "100 k", "150 k"]);
        assert_eq!(axis.scale.position(75_000.0), 0.5);
    }

    #[test]
    fn figures_that_are_all_zero_have_a_place_on_an_axis() {
        assert_eq!(Axis::from_zero("", 0.0, show).scale.position(0.0), 0.0);
    }

    #[test]
    fn values_far_apart_get_a_logarithmic_axis() {
        let axis = Axis::of_values("", [3.0, 900.0, 0.0], 50.0, show);
        assert_eq!(axis.scale, Scale::Log { low: 2.0, high: 1_000.0 });
        assert_eq!(texts(&axis), ["2", "5", "10", "20", "50", "100", "200", "500", "1 k"]);
        assert_eq!(axis.scale.position(0.0), 0.0);
        let wide = Axis::of_values("", [1.0, 1e6], 50.0, show);
        assert_eq!(texts(&wide).len(), 7);
    }

    #[test]
    fn levels_stand_where_they_were_measured() {
        let level = |n: f64| (n.to_string(), Some(n));
        let (log, positions) = Axis::of_levels("", &[level(1.0), level(10.0), level(100.0), level(5000.0)]);
        assert!(matches!(log.scale, Scale::Log { .. }));
        assert_eq!(positions, [1.0, 10.0, 100.0, 5000.0]);
        let (linear, _) = Axis::of_levels("", &[level(100.0), level(200.0), level(300.0)]);
        assert!(matches!(linear.scale, Scale::Linear { .. }));
        let (steps, positions) = Axis::of_levels("", &[level(0.0), level(10_000.0)]);
        assert_eq!((steps.scale, positions), (Scale::Steps(2), vec![0.0, 1.0]));
        let (two, _) = Axis::of_levels("", &[level(64.0), level(512.0)]);
        assert!(matches!(two.scale, Scale::Log { .. }));
        let (words, _) = Axis::of_levels("", &[("hot".into(), None), ("cold".into(), None)]);
        assert_eq!(words.scale, Scale::Steps(2));
    }

    #[test]
    fn no_values_still_make_an_axis() {
        let axis = Axis::of_values("", [], 50.0, show);
        assert!(axis.ticks.len() >= 2);
        assert!(axis.scale.position(0.5).is_finite());
        assert!(Axis::between("", 3.0, 3.0, show).scale.position(3.0).is_finite());
    }
}
