/// The middle value, or the mean of the two middle ones; `None` for no values. Puts `values` into another order.
pub fn median(values: &mut [f64]) -> Option<f64> {
    let half = values.len() / 2;
    let is_even = values.len().is_multiple_of(2);
    if values.is_empty() {
        return None;
    }
    let (below, &mut upper, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    let lower = below.iter().copied().max_by(f64::total_cmp).filter(|_| is_even);
    Some(f64::midpoint(lower.unwrap_or(upper), upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_middle_or_the_mean_of_the_two_middle_values() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&mut [1.0, f64::INFINITY]), Some(f64::INFINITY));
        assert_eq!(median(&mut [7.0]), Some(7.0));
        assert_eq!(median(&mut []), None);
    }
}
