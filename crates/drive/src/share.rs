//! Totals, split over threads and processes.

/// At most so many parts can be asked for.
const PARTS_MAX: u64 = 1024;

/// One part of a whole that is split evenly: the threads of all processes share connections, requests and rate.
///
/// What the user gives are totals. A remainder is given to the first parts, one each, and never dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Which part, from 0.
    pub index: u64,
    /// How many parts there are.
    pub count: u64,
}

impl Share {
    /// The only part.
    pub const WHOLE: Share = Share { index: 0, count: 1 };

    /// Reads `2/3`: the second of three parts.
    ///
    /// # Errors
    /// One line if it is no such text.
    pub fn parse(text: &str) -> Result<Share, String> {
        let numbers =
            text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((part @ 1.., count)) if part <= count && count <= PARTS_MAX => {
                Ok(Share { index: part - 1, count })
            }
            _ => Err(format!("write it like 2/3, the second of three parts; {PARTS_MAX} are the most")),
        }
    }

    /// How much of `total` this part gets.
    pub fn of(self, total: u64) -> u64 {
        total / self.count + u64::from(self.index < total % self.count)
    }

    /// How much of `total` the parts before this one get.
    pub fn before(self, total: u64) -> u64 {
        total / self.count * self.index + self.index.min(total % self.count)
    }

    /// Part `index` of the `count` parts into which this part is split.
    pub fn part(self, index: u64, count: u64) -> Share {
        Share { index: self.index * count + index, count: self.count * count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_remainder_is_dropped() {
        for (total, count) in [(10, 3), (2, 5), (0, 2), (100_000, 7)] {
            let shares: Vec<u64> = (0..count).map(|index| Share { index, count }.of(total)).collect();
            assert_eq!(shares.iter().sum::<u64>(), total);
            for index in 0..count {
                let before: u64 = shares[..index as usize].iter().sum();
                assert_eq!(Share { index, count }.before(total), before);
            }
            assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
        }
    }

    #[test]
    fn a_part_is_written_as_a_fraction() {
        assert_eq!(Share::parse("2/3"), Ok(Share { index: 1, count: 3 }));
        for wrong in ["", "2", "0/3", "4/3", "1/0", "-1/2", "1/2/3", "1/9999999"] {
            assert!(Share::parse(wrong).unwrap_err().contains("2/3"), "{wrong}");
        }
    }

    #[test]
    fn parts_of_parts_are_all_different() {
        let mut indices: Vec<u64> =
            (0..3).flat_map(|p| (0..4).map(move |t| Share::WHOLE.part(p, 3).part(t, 4).index)).collect();
        indices.sort_unstable();
        assert_eq!(indices, (0..12).collect::<Vec<_>>());
    }
}
