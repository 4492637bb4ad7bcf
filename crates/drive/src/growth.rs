//! A number of users that changes in time.

use pitot_meter::{Nanos, units};

/// Stages, each of which leads from one number of users to another in a straight line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Growth(Vec<Stage>);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Stage {
    from: f64,
    to: f64,
    length: Nanos,
}

impl Growth {
    /// Reads `1:100:30s,100:100:1m`.
    pub fn parse(text: &str) -> Result<Growth, String> {
        let stage = |text: &str| -> Option<Stage> {
            let mut words = text.split(':');
            let mut users = || units::count(words.next()?).ok().map(|n| n as f64);
            let (from, to) = (users()?, users()?);
            let length = units::duration(words.next()?).ok().filter(|&length| length > Nanos::ZERO)?;
            words.next().is_none().then_some(Stage { from, to, length })
        };
        let stages = text.split(',').map(|one| {
            stage(one).ok_or_else(|| {
                format!("`{one}` is not a stage of users: write FROM:TO:TIME, as in 1:100:30s")
            })
        });
        let growth = Growth(stages.collect::<Result<_, _>>()?);
        if growth.most() == 0 { Err("the stages have no users".into()) } else { Ok(growth) }
    }

    /// The most users at any time.
    pub fn most(&self) -> u64 {
        self.0.iter().map(|stage| stage.from.max(stage.to) as u64).max().unwrap_or(0)
    }

    /// How long all stages together are.
    pub fn length(&self) -> Nanos {
        Nanos(self.0.iter().map(|stage| stage.length.0).sum())
    }

    /// From when on, not before `at`, there are more than `index` users; `None` if there never are.
    pub fn from(&self, index: u64, at: Nanos) -> Option<Nanos> {
        let wanted = index as f64 + 1.0;
        let mut begins = 0;
        for stage in &self.0 {
            let (start, end) = (begins.max(at.0), begins + stage.length.0);
            if start < end {
                let slope = (stage.to - stage.from) / stage.length.0 as f64;
                let here = stage.from + slope * (start - begins) as f64;
                if here >= wanted {
                    return Some(Nanos(start));
                }
                if stage.to >= wanted {
                    // One nanosecond later than rounding says, so that there is the user at that time.
                    let reached = begins + ((wanted - stage.from) / slope).ceil() as u64 + 1;
                    if reached < end {
                        return Some(Nanos(reached.max(start)));
                    }
                }
            }
            begins = end;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = Nanos::from_secs(1);

    #[test]
    fn users_come_and_go_with_the_stages() {
        let growth = Growth::parse("1:11:10s,11:11:5s,11:1:10s").unwrap();
        assert_eq!((growth.most(), growth.length()), (11, Nanos::from_secs(25)));
        let seconds = |index, at| growth.from(index, Nanos::from_secs(at)).map(|at| at.0 / SECOND.0);
        assert_eq!((seconds(0, 0), seconds(1, 0), seconds(9, 0)), (Some(0), Some(1), Some(9)));
        assert_eq!((seconds(10, 0), seconds(10, 12), seconds(10, 16)), (Some(10), Some(12), None));
        assert_eq!(
            (seconds(6, 20), seconds(5, 20), seconds(0, 24), seconds(0, 25)),
            (None, Some(20), Some(24), None)
        );
        // Whoever is told to come then is welcome then.
        for index in 0..11 {
            let at = growth.from(index, Nanos::ZERO).unwrap();
            assert_eq!(growth.from(index, at), Some(at), "{index}");
        }
    }

    #[test]
    fn a_step_is_taken_at_once() {
        let growth = Growth::parse("5:5:1s,0:0:1s,9:9:1s").unwrap();
        assert_eq!(growth.from(4, Nanos::ZERO), Some(Nanos::ZERO));
        assert_eq!(growth.from(4, SECOND), Some(Nanos::from_secs(2)));
        assert_eq!(growth.from(8, Nanos::ZERO), Some(Nanos::from_secs(2)));
        assert_eq!(growth.from(9, Nanos::ZERO), None);
    }

    #[test]
    fn bad_stages_are_named() {
        for text in ["", "5", "1:2", "1:2:3", "1:2:3s:4", "a:2:3s", "1:2:0s", "0:0:5s", "-1:2:3s", "1:2:3s,"]
        {
            assert!(Growth::parse(text).is_err(), "{text}");
        }
    }
}
