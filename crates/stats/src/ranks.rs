//! Ranks with ties, and the normal tail that large samples use instead of an exact distribution.

/// The ranks of `values` from 1 up, doubled, so that the mid-rank of a tie is a whole number too.
pub(crate) fn doubled_midranks(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0; values.len()];
    let mut start = 0;
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        // Twice the mean of start+1 ..= start+len.
        let doubled = 2 * start + tied.len() + 1;
        for &index in tied {
            ranks[index] = doubled;
        }
        start += tied.len();
    }
    ranks
}

/// The two-sided p-value that doubles the smaller of two one-sided ones.
pub(crate) fn two_sided(lower: f64, upper: f64) -> f64 {
    (2.0 * lower.min(upper)).min(1.0)
}

/// The probability that a standard normal variable exceeds `z`.
///
/// The complementary error function by Numerical Recipes' Chebyshev fit (Press et al. 1992, section 6.2), whose
/// relative error stays below 1.2e-7 everywhere.
pub(crate) fn normal_above(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.5 * x);
    const FIT: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let polynomial = FIT.iter().rev().fold(0.0, |sum, c| sum * t + c);
    let tail = 0.5 * t * (polynomial - x * x).exp();
    if z < 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_the_mean_of_their_ranks() {
        assert_eq!(doubled_midranks(&[10.0, 30.0, 20.0, 30.0]), [2, 7, 4, 7]);
        assert_eq!(doubled_midranks(&[5.0; 3]), [4, 4, 4]);
        assert!(doubled_midranks(&[]).is_empty());
    }

    #[test]
    fn the_normal_tail_agrees_with_scipy() {
        // scipy.stats.norm.sf of scipy 1.17.1.
        for (z, tail) in [
            (0.0, 0.5),
            (1.0, 0.158_655_253_93),
            (1.959_964, 0.025),
            (-2.0, 0.977_249_868_05),
            (5.0, 2.866_515_719e-7),
        ] {
            assert!((normal_above(z) / tail - 1.0).abs() < 1e-6, "{z}: {}", normal_above(z));
        }
    }
}
