//! A series less what another one explains, which was measured beside it.
//!
//! The idea is that of CUPED (Deng, Xu, Kohavi and Walker, "Improving the sensitivity of online controlled experiments by utilizing
//! pre-experiment data", WSDM 2013): what disturbs both is taken out by a regression. Here it is one of differences from each point to the
//! next, less their mean, so that two trends that have nothing to do with each other explain nothing.

use pitot_meter::median;

use super::course::INTERVALS_MIN;

/// Points that are so close in time are the same, seconds.
const SAME_S: f64 = 1.0;
/// So many standard errors must the correlation be from none: one of 40 series that have nothing in common with another is changed.
const ERRORS_MIN: f64 = 2.0;
/// And so many must the number of differences with the same sign be from a half, so that it is not one interval that decides.
const ERRORS_OF_SIGNS_MIN: f64 = 1.0;

/// A series less what another one explains.
#[derive(Clone, Debug, PartialEq)]
pub struct Adjusted {
    /// Seconds, and the value that would have been without the disturbance; the median of the other series is none.
    pub points: Vec<(f64, f64)>,
    /// How much it moves with one unit of the other.
    pub factor: f64,
    /// The correlation of the differences, from 0 to 1.
    pub correlation: f64,
}

/// The points of a series that the other has too, less what the other explains. None if there are too few, or if they do not move
/// together in the same direction.
pub fn adjusted(points: &[(f64, f64)], beside: &[(f64, f64)]) -> Option<Adjusted> {
    let (points, others): (Vec<(f64, f64)>, Vec<f64>) = common(points, beside).into_iter().unzip();
    if points.len() < INTERVALS_MIN {
        return None;
    }
    let values: Vec<f64> = points.iter().map(|point| point.1).collect();
    let (mut both, mut own, mut other, mut signs) = (0.0, 0.0, 0.0, 0.0);
    for (y, x) in steps(&values).zip(steps(&others)) {
        (both, own, other) = (both + x * y, own + y * y, other + x * x);
        signs += if x * y == 0.0 { 0.0 } else { (x * y).signum() };
    }
    let correlation = both / (own * other).sqrt();
    let root = ((points.len() - 1) as f64).sqrt();
    let is_clear = correlation * root >= ERRORS_MIN && signs / root >= ERRORS_OF_SIGNS_MIN;
    if !is_clear {
        return None;
    }
    let factor = both / other;
    let usual = median(&mut others.clone())?;
    let less = |((at_s, value), other): ((f64, f64), f64)| (at_s, value - factor * (other - usual));
    Some(Adjusted { points: points.into_iter().zip(others).map(less).collect(), factor, correlation })
}

/// The points of a series that another one, in order of time, has too, with the value of that one.
pub fn common(points: &[(f64, f64)], beside: &[(f64, f64)]) -> Vec<((f64, f64), f64)> {
    let of = |at_s: f64| {
        let next = beside.partition_point(|point| point.0 < at_s - SAME_S);
        beside.get(next).filter(|point| (point.0 - at_s).abs() <= SAME_S).map(|point| point.1)
    };
    points.iter().filter_map(|point| Some((*point, of(point.0)?))).collect()
}

/// The differences from each value to the next, less their mean.
fn steps(values: &[f64]) -> impl Iterator<Item = f64> {
    let whole = values.last().unwrap_or(&0.0) - values.first().unwrap_or(&0.0);
    let mean = whole / (values.len() - 1).max(1) as f64;
    values.windows(2).map(move |pair| pair[1] - pair[0] - mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitot_meter::Random;
    use proptest::prelude::*;

    /// Points every ten seconds.
    fn series(count: usize, value: impl FnMut(usize) -> f64) -> Vec<(f64, f64)> {
        (0..count).map(|n| n as f64 * 10.0 + 5.0).zip((0..count).map(value)).collect()
    }

    fn noise(count: usize, seed: u64, size: f64) -> Vec<f64> {
        let mut random = Random::new(seed);
        (0..count).map(|_| size * (random.unit() - 0.5)).collect()
    }

    #[test]
    fn what_disturbs_both_is_taken_out_and_a_step_of_one_stays() {
        let disturbance = noise(60, 1, 3.0);
        let own = noise(60, 2, 0.05);
        let beside = series(60, |n| 1.0 + disturbance[n]);
        let points = series(60, |n| 10.0 + 1.4 * disturbance[n] + own[n] + if n < 30 { 0.0 } else { 1.0 });
        let adjusted = adjusted(&points, &beside).unwrap();
        assert!((adjusted.factor - 1.4).abs() < 0.05 && adjusted.correlation > 0.95, "{adjusted:?}");
        let mean = |part: &[(f64, f64)]| part.iter().map(|point| point.1).sum::<f64>() / part.len() as f64;
        let (before, after) = adjusted.points.split_at(30);
        assert!((mean(after) - mean(before) - 1.0).abs() < 0.1);
        let spread = |part: &[(f64, f64)]| part.iter().map(|p| (p.1 - mean(part)).abs()).fold(0.0, f64::max);
        assert!(spread(before) < 0.2 && spread(&points[..30]) > 1.0);
    }

    #[test]
    fn two_trends_and_opposite_movements_explain_nothing() {
        let (a, b) = (noise(60, 3, 0.1), noise(60, 4, 0.1));
        for slope in [0.01, 1.0] {
            let rises = series(60, |n| 1.0 + slope * n as f64 + a[n]);
            let rises_too = series(60, |n| 5.0 + 2.0 * slope * n as f64 + b[n]);
            assert_eq!(adjusted(&rises, &rises_too), None);
        }
        let rises = series(60, |n| 1.0 + 0.01 * n as f64 + a[n]);
        // One interval that disturbs both says nothing of the others.
        let once = |n: usize| if n == 40 { 9.0 } else { 0.0 };
        let (jumps, jumps_too) = (series(60, |n| a[n] + once(n)), series(60, |n| b[n] + once(n)));
        assert_eq!(adjusted(&jumps, &jumps_too), None);
        let falls = series(60, |n| 9.0 - a[n]);
        assert_eq!(adjusted(&rises, &falls), None);
        assert_eq!(adjusted(&rises, &series(60, |_| 2.0)), None);
        assert_eq!(adjusted(&rises[..INTERVALS_MIN - 1], &rises), None);
        let later: Vec<(f64, f64)> = rises.iter().map(|point| (point.0 + 5.0, point.1)).collect();
        assert_eq!(adjusted(&rises, &later), None, "no point of one is a point of the other");
    }

    proptest! {
        #[test]
        fn any_points_are_taken(
            points in prop::collection::vec((0.0..1e6f64, -1e12..1e12f64), 0..60),
            beside in prop::collection::vec((0.0..1e6f64, -1e12..1e12f64), 0..60),
        ) {
            let mut beside = beside;
            beside.sort_by(|a, b| a.0.total_cmp(&b.0));
            if let Some(adjusted) = adjusted(&points, &beside) {
                prop_assert!(adjusted.points.len() >= INTERVALS_MIN && adjusted.factor > 0.0);
                prop_assert!(adjusted.points.iter().all(|point| point.1.is_finite()));
            }
        }
    }
}
