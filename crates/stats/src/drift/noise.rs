//! Noise as autocorrelated as the residuals, without what was taken out of them.

use pitot_meter::Random;

use super::linear::{Design, subtract};

/// The most changes of the past that a value is explained by, beside the value before it.
const MOST_LAGS: usize = 3;

/// Values that are simulated before the first one that counts.
const BURN_IN: usize = 40;

/// The distribution of the persistence has a longer tail than the normal one, by simulation.
const DOUBT: f64 = 1.2;

/// An autoregression in the form of Dickey and Fuller: `e[t] = a e[t-1] + Σ g[j] (e[t-j] - e[t-j-1]) + u[t]`.
///
/// `a` is the persistence on which all depends: the variance of a slope grows with `((1+a)/(1-a))`. Least squares
/// find it too low in short series whose level and trend have been taken out; that bias is removed by its first
/// order, `-(r + (r+2)a)/n` for `r` columns taken out (Marriott and Pope, "Bias in the estimation of
/// autocorrelations", Biometrika 41, 1954). What is then still in doubt is drawn again for each simulated series, from
/// the normal distribution of the estimate, up to the random walk at `a = 1`. The number of changes `g` is chosen by
/// the information criterion of Schwarz (Annals of Statistics 6, 1978).
pub(crate) struct Noise {
    persistence: f64,
    error: f64,
    lags: Vec<f64>,
    /// Of mean 0, scaled up for the parameters that were taken out.
    innovations: Vec<f64>,
}

impl Noise {
    /// The noise of `residuals` at `places` of an even grid, from which `columns` columns were taken out.
    pub fn of(places: &[usize], residuals: &[f64], columns: f64) -> Noise {
        let n = residuals.len() as f64;
        let most = if n >= 80.0 { MOST_LAGS } else { usize::from(n >= 40.0) * 2 };
        // The same rows for every number of lags, so that the criterion compares like with like.
        let rows: Vec<usize> =
            (most + 1..places.len()).filter(|&t| places[t] - places[t - most - 1] == most + 1).collect();
        let target: Vec<f64> = rows.iter().map(|&t| residuals[t]).collect();
        let count = rows.len() as f64;
        let mut best: Option<(f64, Design, Vec<f64>)> = None;
        for lags in 0..=most {
            if rows.len() < 10 + lags {
                break;
            }
            let mut columns = vec![rows.iter().map(|&t| residuals[t - 1]).collect::<Vec<_>>()];
            columns.extend(
                (1..=lags).map(|j| rows.iter().map(|&t| residuals[t - j] - residuals[t - j - 1]).collect()),
            );
            let Some(design) = Design::new(columns) else { break };
            let left = design.residuals(&target);
            let square: f64 = left.iter().map(|u| u * u).sum::<f64>() / count;
            let criterion = count * square.max(f64::MIN_POSITIVE).ln() + lags as f64 * count.ln();
            if best.as_ref().is_none_or(|(least, ..)| criterion < *least) {
                best = Some((criterion, design, left));
            }
        }
        let Some((_, design, mut innovations)) = best else {
            return Noise { persistence: 0.0, error: 0.0, lags: Vec::new(), innovations: residuals.to_vec() };
        };
        let mut coefficients = design.coefficients(&target);
        let lags = coefficients.split_off(1);
        let freedom = (count - columns - 1.0 - lags.len() as f64).max(2.0);
        let mean = innovations.iter().sum::<f64>() / count;
        let square: f64 = innovations.iter().map(|u| (u - mean).powi(2)).sum();
        let scale = (count / freedom).sqrt();
        for u in &mut innovations {
            *u = (*u - mean) * scale;
        }
        let first_order = (coefficients[0] + columns / n) / (1.0 - (columns + 2.0) / n).max(0.5);
        // What the first order leaves in series of 30 to 100 values, by simulation.
        let second_order = 1.5 / n * first_order.clamp(0.0, 1.0).powi(2);
        Noise {
            persistence: (first_order + second_order).min(1.0),
            error: DOUBT * (square / freedom * design.variance(0)).sqrt(),
            lags,
            innovations,
        }
    }

    /// Puts a series of this noise into `out`, at `places`.
    pub fn draw(&self, places: &[usize], random: &mut Random, out: &mut Vec<f64>) {
        let persistence = (self.persistence + self.error * random.normal()).clamp(-0.95, 1.0);
        if !self.simulate(persistence, &self.lags, places, random, out) {
            self.simulate(persistence, &[], places, random, out);
        }
        // The scale of the innovations is an estimate, too.
        let doubt =
            1.0 / (1.0 + random.normal() / (2.0 * self.innovations.len().max(8) as f64).sqrt()).max(0.5);
        for value in out {
            *value *= doubt;
        }
    }

    /// False if a draw of the persistence does not go with the lags, and the series explodes.
    fn simulate(
        &self,
        persistence: f64,
        lags: &[f64],
        places: &[usize],
        random: &mut Random,
        out: &mut Vec<f64>,
    ) -> bool {
        out.clear();
        if self.innovations.is_empty() {
            out.resize(places.len(), 0.0);
            return true;
        }
        let largest = self.innovations.iter().fold(0.0, |most: f64, u| most.max(u.abs()));
        let length = BURN_IN + places.last().map_or(0, |last| last + 1);
        let bound = 10.0 * largest * length as f64;
        // The newest value first, and as many as the lags look back.
        let mut past = [0.0; MOST_LAGS + 1];
        let mut next = places.iter().map(|place| BURN_IN + place).peekable();
        for now in 0..length {
            let mut value = persistence * past[0] + self.innovations[random.below(self.innovations.len())];
            for (j, lag) in lags.iter().enumerate() {
                value += lag * (past[j] - past[j + 1]);
            }
            if value.abs() > bound {
                return false;
            }
            past.copy_within(..MOST_LAGS, 1);
            past[0] = value;
            if next.next_if_eq(&now).is_some() {
                out.push(value);
            }
        }
        true
    }
}

/// As many columns, beside its own, does a change count for that was found where it fits best: noise loses that much
/// persistence to it, by simulation of series of 30 to 100 values.
const SEARCH: f64 = 4.0;

/// What a design leaves of `y`, as noise. `searched` is how many of its columns were chosen to fit.
pub(crate) fn noise_around(design: &Design, places: &[usize], y: &[f64], searched: usize) -> Noise {
    let mut left = y.to_vec();
    for (column, coefficient) in design.columns().iter().zip(design.coefficients(y)) {
        subtract(&mut left, coefficient, column);
    }
    Noise::of(places, &left, design.columns().len() as f64 + SEARCH * searched as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(persistence: f64, n: usize, random: &mut Random) -> Vec<f64> {
        let mut last = 0.0;
        (0..n + 100)
            .map(|_| {
                last = persistence * last + random.normal();
                last
            })
            .skip(100)
            .collect()
    }

    #[test]
    fn persistence_is_found_without_the_bias_of_short_series() {
        let mut random = Random::new(5);
        for known in [0.0, 0.3, 0.6, 0.9] {
            let n = 60;
            let places: Vec<usize> = (0..n).collect();
            let line = Design::new(vec![vec![1.0; n], places.iter().map(|&p| p as f64).collect()]).unwrap();
            let runs = 200;
            let mean: f64 = (0..runs)
                .map(|_| noise_around(&line, &places, &series(known, n, &mut random), 0).persistence)
                .sum::<f64>()
                / f64::from(runs);
            assert!((mean - known).abs() < 0.06, "{mean} for {known}");
        }
    }

    #[test]
    fn gaps_stay_gaps_and_nothing_gives_nothing() {
        let places = [0, 1, 2, 50, 51];
        let mut out = Vec::new();
        let mut random = Random::new(1);
        Noise::of(&places, &[1.0, -1.0, 1.0, -1.0, 0.0], 2.0).draw(&places, &mut random, &mut out);
        assert_eq!(out.len(), 5);
        Noise::of(&[], &[], 2.0).draw(&[], &mut random, &mut out);
        assert!(out.is_empty());
    }
}
