//! Benjamini and Hochberg's correction, where many questions are asked and each answer is looked at for itself.
//!
//! Holm's correction keeps even one false answer of the whole family rare, so each further question makes all others harder. Here the
//! share of false answers among those that are shown is kept: Benjamini and Hochberg, "Controlling the false discovery rate", Journal of
//! the Royal Statistical Society B 57, 1995.

/// Each p-value corrected, in the given order, of a family of so many tests, whose other p-values are 1. Of all whose corrected value is at
/// most `q` the share `q` is false on average, if the tests are independent.
pub fn false_discovery(p: &[f64], tests: usize) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*b].total_cmp(&p[*a]));
    let mut corrected = vec![1.0; p.len()];
    let mut least = 1.0f64;
    for (position, index) in order.into_iter().enumerate() {
        let rank = p.len() - position;
        least = least.min(p[index] * tests.max(p.len()) as f64 / rank as f64);
        corrected[index] = least;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_are_small_the_less_each_is_corrected() {
        let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near(&false_discovery(&[0.01, 0.04, 0.03], 3), &[0.03, 0.04, 0.04]));
        assert!(near(&false_discovery(&[0.01], 10), &[0.1]));
        assert!(near(&false_discovery(&[0.01, 0.01], 10), &[0.05, 0.05]));
        assert!(near(&false_discovery(&[0.9], 10), &[1.0]));
        assert!(false_discovery(&[], 10).is_empty());
    }
}
