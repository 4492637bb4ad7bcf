/// A tolerance: `1%` or `0.01`.
pub(super) fn tolerance(text: &str) -> Result<f64, String> {
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse().map(|percent: f64| percent / 100.0),
        None => text.parse(),
    };
    number
        .ok()
        .filter(|share| (0.0..1.0).contains(share))
        .ok_or_else(|| "a share is written 2% or 0.02".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tolerance_is_a_share_or_a_percentage() {
        assert_eq!([tolerance("2%"), tolerance("0.02"), tolerance("0")], [Ok(0.02), Ok(0.02), Ok(0.0)]);
        assert!(["2", "-1%", "100%", "x", ""].iter().all(|bad| tolerance(bad).is_err()));
    }
}
