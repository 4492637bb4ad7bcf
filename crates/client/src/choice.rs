use std::sync::Arc;

use crate::exchange::{Draw, Tag};
use crate::protocol::ClientOptions;
use crate::request::RequestSpec;

/// Chooses among the requests of a run: by weight, in turn, or in a given order.
#[derive(Clone, Debug)]
pub struct RequestChoice {
    /// The upper end of each request's share of all random numbers; empty if they come in turn.
    ends: Vec<u64>,
    /// The order in which they come; empty if it is their own.
    order: Arc<[u32]>,
    count: u32,
}

impl RequestChoice {
    /// The choice that the options ask for.
    ///
    /// # Errors
    /// No request or more than 2^32; a weight that is not positive and finite; an order that names an unknown request.
    pub fn of(options: &ClientOptions) -> Result<RequestChoice, String> {
        let mut choice = RequestChoice::new(&options.requests, options.in_turn || !options.order.is_empty())?;
        if options.order.iter().any(|&n| n >= choice.count) {
            return Err("the order of the requests names a request that does not exist".into());
        }
        choice.order = Arc::clone(&options.order);
        Ok(choice)
    }

    /// A choice among `requests`.
    ///
    /// # Errors
    /// As for [`RequestChoice::of`].
    pub fn new(requests: &[RequestSpec], in_turn: bool) -> Result<RequestChoice, String> {
        let count =
            u32::try_from(requests.len()).map_err(|_| "too many requests: the limit is 2^32".to_owned())?;
        if count == 0 {
            return Err("no request to send".into());
        }
        if let Some(r) = requests.iter().find(|r| !(r.weight.is_finite() && r.weight > 0.0)) {
            return Err(format!("the weight {} of `{}` is not a positive number", r.weight, r.path));
        }
        let mut ends = Vec::new();
        if !in_turn && count > 1 {
            let total: f64 = requests.iter().map(|r| r.weight).sum();
            let mut sum = 0.0;
            for r in requests {
                sum += r.weight;
                // A float cast saturates, so that the last end is the largest number.
                ends.push((sum / total * 2f64.powi(64)) as u64);
            }
        }
        Ok(RequestChoice { ends, order: Arc::default(), count })
    }

    /// The index of the next request in the table.
    #[inline]
    pub fn next(&self, draw: Draw) -> Tag {
        if self.count == 1 {
            Tag(0)
        } else if self.ends.is_empty() {
            match self.order.len() as u64 {
                0 => Tag((draw.index % u64::from(self.count)) as u32),
                length => Tag(self.order[(draw.index % length) as usize]),
            }
        } else {
            let index = self.ends.partition_point(|&end| end <= draw.random);
            Tag((index as u32).min(self.count - 1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specs(weights: &[f64]) -> Vec<RequestSpec> {
        let spec = |&weight| RequestSpec { weight, ..RequestSpec::default() };
        weights.iter().map(spec).collect()
    }

    #[test]
    fn weights_divide_the_random_numbers() {
        let choice = RequestChoice::new(&specs(&[3.0, 1.0]), false).unwrap();
        let at = |random| choice.next(Draw { random, index: 0 }).0;
        assert_eq!((at(0), at((3 << 62) - 1), at(3 << 62), at(u64::MAX)), (0, 0, 1, 1));
    }

    #[test]
    fn in_turn_takes_each_once_a_round() {
        let choice = RequestChoice::new(&specs(&[1.0; 3]), true).unwrap();
        let taken: Vec<u32> = (0..7).map(|index| choice.next(Draw { random: 9, index }).0).collect();
        assert_eq!(taken, [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn an_order_decides_which_comes_when() {
        let order = [2, 0, 0, 1].into();
        let mut options = ClientOptions { requests: specs(&[1.0; 3]), order, ..ClientOptions::default() };
        let choice = RequestChoice::of(&options).unwrap();
        let taken: Vec<u32> = (0..6).map(|index| choice.next(Draw { random: 9, index }).0).collect();
        assert_eq!(taken, [2, 0, 0, 1, 2, 0]);
        options.order = [3].into();
        assert!(RequestChoice::of(&options).is_err());
    }

    #[test]
    fn invalid_weights_are_refused() {
        for weights in [&[][..], &[0.0], &[-1.0], &[f64::NAN], &[1.0, f64::INFINITY]] {
            assert!(RequestChoice::new(&specs(weights), false).is_err(), "{weights:?}");
        }
    }
}
