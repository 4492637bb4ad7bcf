//! The distribution of requests over the keys.

use crate::stream::Stream;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Popularity {
    Uniform,
    Zipf(Zipf),
}

impl Popularity {
    #[inline]
    pub(crate) fn draw(&self, keys: u64, random: &mut Stream) -> u64 {
        match self {
            Popularity::Uniform => random.below(keys),
            Popularity::Zipf(zipf) => zipf.draw(random),
        }
    }
}

/// Zipf's law: the frequency of the k-th key is proportional to k^-`exponent`.
///
/// Drawn by rejection inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone
/// discrete distributions", 1996): the area under the curve is inverted, and the rare wrong guesses are rejected. It needs
/// no table, whatever the number of keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Zipf {
    exponent: f64,
    last: f64,
    /// The area up to half behind the first key, less the first key's own weight, and up to half behind the last.
    area_first: f64,
    area_last: f64,
}

impl Zipf {
    /// A distribution over `keys` keys, by an exponent above 0.
    pub(crate) fn new(keys: u64, exponent: f64) -> Zipf {
        let mut zipf = Zipf { exponent, last: keys as f64, area_first: 0.0, area_last: 0.0 };
        zipf.area_first = zipf.area(1.5) - 1.0;
        zipf.area_last = zipf.area(zipf.last + 0.5);
        zipf
    }

    pub(crate) fn draw(&self, random: &mut Stream) -> u64 {
        loop {
            let area = self.area_last + random.unit() * (self.area_first - self.area_last);
            let rank = self.inverse(area).round().clamp(1.0, self.last);
            if area >= self.area(rank + 0.5) - rank.powf(-self.exponent) {
                return rank as u64 - 1;
            }
        }
    }

    /// The integral of x to the power of minus the exponent, from 1 to x.
    fn area(&self, x: f64) -> f64 {
        let log = x.ln();
        expm1_over((1.0 - self.exponent) * log) * log
    }

    fn inverse(&self, area: f64) -> f64 {
        // Rounding may bring the argument below the least that there is.
        let t = (area * (1.0 - self.exponent)).max(-1.0);
        (log1p_over(t) * area).exp()
    }
}

/// (e^x - 1) / x, at 0 too.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 }
}

/// ln(1 + x) / x, at 0 too.
fn log1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_follow_the_law() {
        const KEYS: usize = 1000;
        const DRAWS: usize = 400_000;
        for exponent in [0.5, 0.99, 1.0, 1.2, 2.0] {
            let zipf = Zipf::new(KEYS as u64, exponent);
            let mut random = Stream::new(3);
            let mut seen = vec![0u32; KEYS];
            for _ in 0..DRAWS {
                seen[zipf.draw(&mut random) as usize] += 1;
            }
            let weight = |k: usize| (k as f64 + 1.0).powf(-exponent);
            let total: f64 = (0..KEYS).map(weight).sum();
            for k in [0, 1, 2, 9, 99] {
                let wanted = weight(k) / total * DRAWS as f64;
                let error = (f64::from(seen[k]) - wanted).abs();
                assert!(error < 5.0 * wanted.sqrt() + 1.0, "{exponent} {k}: {} for {wanted}", seen[k]);
            }
        }
    }

    #[test]
    fn one_key_is_always_the_same() {
        let (zipf, mut random) = (Zipf::new(1, 0.99), Stream::new(1));
        assert!((0..100).all(|_| zipf.draw(&mut random) == 0));
        assert!((0..100).all(|_| Popularity::Uniform.draw(3, &mut random) < 3));
    }
}
