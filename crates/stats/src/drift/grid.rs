//! Irregular points on one even grid: medians of bins.

use crate::location::median;

/// The most bins of a grid: the slopes of all pairs are looked at for each resampled series, and a trend is so
/// slow that medians of neighbours lose next to nothing of it.
pub const BINS: usize = 100;

/// The bins that have points, in their order.
pub(crate) struct Grid {
    /// The place of each bin on the even grid; a jump of more than one is a gap.
    pub places: Vec<usize>,
    /// Mean time of the points of each bin, in seconds.
    pub seconds: Vec<f64>,
    /// Median value of each bin.
    pub values: Vec<f64>,
}

/// Puts `points` (seconds, value) in any order on a grid. What is not finite is left out.
///
/// The step is the median distance of neighbours, or what makes [`BINS`] places of the whole where that is more.
/// Times stay what they are; only the places of a long gap are fewer.
pub(crate) fn grid(points: &[(f64, f64)]) -> Grid {
    let mut points: Vec<_> = points.iter().copied().filter(|(t, y)| t.is_finite() && y.is_finite()).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (Some(&(first, _)), Some(&(last, _))) = (points.first(), points.last()) else {
        return Grid { places: Vec::new(), seconds: Vec::new(), values: Vec::new() };
    };
    let apart: Vec<f64> = points.windows(2).map(|pair| pair[1].0 - pair[0].0).filter(|&d| d > 0.0).collect();
    let usual = median(&apart).unwrap_or(1.0);
    // A gap of more than a twentieth of all counts as that, or a lab that was down for days would leave the hours
    // before and after it in a few bins.
    let limit = (3.0 * usual).max((last - first) / 20.0);
    let mut passed = 0.0;
    let mut before = first;
    let passed: Vec<f64> = points
        .iter()
        .map(|&(t, _)| {
            passed += (t - before).min(limit);
            before = t;
            passed
        })
        .collect();
    let step = usual.max(passed[passed.len() - 1] / (BINS - 1) as f64);
    let placed: Vec<_> = points
        .iter()
        .zip(&passed)
        .map(|(&(t, y), passed)| ((passed / step).round() as usize, t, y))
        .collect();

    let mut grid = Grid { places: Vec::new(), seconds: Vec::new(), values: Vec::new() };
    for bin in placed.chunk_by(|a, b| a.0 == b.0) {
        grid.places.push(bin[0].0);
        grid.seconds.push(bin.iter().map(|p| p.1).sum::<f64>() / bin.len() as f64);
        grid.values.push(median(&bin.iter().map(|p| p.2).collect::<Vec<_>>()).unwrap_or_default());
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_minutes_stay_as_they_are() {
        let points: Vec<_> = (0..60).map(|i| (10.0 * f64::from(i), f64::from(i))).collect();
        let grid = grid(&points);
        assert_eq!(grid.places, (0..60).collect::<Vec<_>>());
        assert_eq!(grid.values, points.iter().map(|p| p.1).collect::<Vec<_>>());
    }

    #[test]
    fn days_with_a_gap_become_a_hundred_places_with_a_gap() {
        let hour = 3_600.0;
        // Coarse when old, fine at the end, and twelve hours without a lab.
        let old = (0..72).map(|i| (f64::from(i) * hour / 6.0, 1.0));
        let fine = (0..2_160).map(|i| (24.0 * hour + f64::from(i) * 10.0, 2.0));
        let grid = grid(&old.chain(fine).collect::<Vec<_>>());
        assert!(grid.places.last() < Some(&BINS), "{:?}", grid.places);
        assert_eq!(grid.places.windows(2).filter(|pair| pair[1] - pair[0] > 1).count(), 1);
    }

    #[test]
    fn what_is_no_number_is_left_out_and_order_does_not_matter() {
        let grid = grid(&[(2.0, 3.0), (f64::NAN, 1.0), (1.0, 2.0), (0.0, 1.0), (3.0, f64::INFINITY)]);
        assert_eq!(grid.values, [1.0, 2.0, 3.0]);
        assert!(super::grid(&[]).places.is_empty());
    }
}
