//! The answer in a sentence.

use super::change::{Change, Kind};
use super::course::Drift;

impl Drift {
    /// The answer in one sentence. `amount` writes an amount of the figure with its unit; it is never given a
    /// negative one.
    ///
    /// ```text
    /// memory grew 1.2 KiB an hour [0.9 KiB, 1.5 KiB]: 29 KiB a day
    /// no drift of p99 above 3 ms a day seen        (an hour, of less than six hours)
    /// memory has grown 8 MiB an hour slower since 0:10:00; since then no drift above 40 KiB a day seen
    /// rate stepped down by 100/s at 0:05:00; since then no drift above 12/s a day seen
    /// too short to tell whether p99 drifts         (see [`Drift::is_too_short`])
    /// ```
    pub fn sentence(&self, amount: impl Fn(f64) -> String) -> String {
        self.worded(&amount, &amount)
    }

    /// The same, where the sizes of changes are written in another way than amounts.
    fn worded(&self, amount: &dyn Fn(f64) -> String, size: &dyn Fn(f64) -> String) -> String {
        let figure = &self.figure;
        let slope = self.slope_per_hour.abs();
        let grows = self.slope_per_hour > 0.0;
        if self.declared {
            let [low, high] = if grows { self.interval } else { [-self.interval[1], -self.interval[0]] };
            return format!(
                "{figure} {} {} an hour [{}, {}]: {} a day",
                if grows { "grew" } else { "fell" },
                amount(slope),
                amount(low.max(0.0)),
                amount(high),
                amount(24.0 * slope),
            );
        }
        let (hours, span) = self.told_for();
        if self.p_adjusted < self.level {
            return format!(
                "{figure} {} {} {span}, within the tolerance of {} {span}",
                if grows { "grew" } else { "fell" },
                amount(hours * slope),
                amount(hours * self.tolerance_per_hour),
            );
        }
        let unseen = match self.is_too_short() {
            true => None,
            false => Some(format!("above {} {span} seen", amount(hours * self.detectable_per_hour))),
        };
        // A series that hardly moves has bends that no digit shows.
        let shows = |change: &&Change| amount(change.size.abs()) != amount(0.0);
        match (self.changes.iter().rfind(shows), unseen) {
            (Some(last), Some(seen)) => {
                format!("{figure} {}; since then no drift {seen}", last.words(size))
            }
            (Some(last), None) => {
                format!("{figure} {}; too short to tell of a drift since then", last.words(size))
            }
            (None, Some(seen)) => format!("no drift of {figure} {seen}"),
            (None, None) => format!("too short to tell whether {figure} drifts"),
        }
    }

    /// As [`Drift::sentence`], in shares of the median: `no drift of p99 above 3% a day seen`.
    pub fn sentence_in_shares(&self) -> String {
        let median = self.median.abs();
        let share = |amount: f64| {
            let percent = if median > 0.0 { 100.0 * amount / median } else { 0.0 };
            // Nothing can fall by more than 100% of what it was; of its median it can.
            match percent {
                1_000.0.. => format!("{:.0} times its median", percent / 100.0),
                10.0.. => format!("{percent:.0}%"),
                _ => format!("{percent:.1}%"),
            }
        };
        // A step is read as a share of what was before it, and what was before it may be twice the median.
        let size = |amount| match share(amount) {
            percent if percent.ends_with('%') => format!("{percent} of its median"),
            times => times,
        };
        self.worded(&share, &size)
    }
}

impl Change {
    /// What happened and when: `stepped up by 4 at 0:05:00`.
    pub fn words(&self, amount: &dyn Fn(f64) -> String) -> String {
        let size = amount(self.size.abs());
        let more = self.size > 0.0;
        let at = clock(self.seconds);
        match self.kind {
            Kind::Step => format!("stepped {} by {size} at {at}", if more { "up" } else { "down" }),
            Kind::Bend => {
                format!("has grown {size} an hour {} since {at}", if more { "faster" } else { "slower" })
            }
        }
    }
}

/// `0:10:00` of a time since the start.
fn clock(seconds: f64) -> String {
    let seconds = seconds.max(0.0).round() as u64;
    format!("{}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use super::*;

    fn ask(value: impl Fn(f64) -> f64) -> Drift {
        let points: Vec<_> = (0..60).map(|i| (f64::from(i) * 60.0, value(f64::from(i)))).collect();
        drift(&Series { figure: "memory", points: &points }, &Question::default()).unwrap()
    }

    fn kib(amount: f64) -> String {
        format!("{amount:.0} KiB")
    }

    #[test]
    fn a_series_that_would_hide_a_doubling_is_too_short_to_tell() {
        // Two minutes of a figure that jumps about.
        let jumps = |i: u32| 100.0 + f64::from((i * 7_919) % 11) * 20.0;
        let asked = |points: &[(f64, f64)], tolerance| {
            let question = Question { tolerance, ..Question::default() };
            drift(&Series { figure: "p99", points }, &question).unwrap()
        };
        let points: Vec<_> = (0..60).map(|i| (f64::from(i) * 2.0, jumps(i))).collect();
        let short = asked(&points, Tolerance::SharePerHour(0.05));
        assert!(short.is_too_short() && short.detectable_per_hour > short.median, "{short:?}");
        assert_eq!(short.sentence_in_shares(), "too short to tell whether p99 drifts");
        // What the tolerance asks for is answered, however short.
        let lenient = asked(&points, Tolerance::SharePerHour(100.0));
        assert!(!lenient.is_too_short());
        assert!(lenient.sentence_in_shares().starts_with("no drift of p99 above "));
        // A figure that hardly moves is answered after two minutes.
        let steady: Vec<_> = points.iter().map(|(at_s, value)| (*at_s, 1e6 + value)).collect();
        assert!(!asked(&steady, Tolerance::PerHour(0.0)).is_too_short());
        // The same noise over four days is told for a day, in which a doubling would have been seen.
        let long: Vec<_> = points.iter().map(|(at_s, value)| (at_s * 3_000.0, *value)).collect();
        let long = asked(&long, Tolerance::SharePerHour(0.05));
        assert!(!long.is_too_short(), "{}", long.sentence_in_shares());
        let stepped: Vec<_> =
            points.iter().map(|(at_s, v)| (*at_s, if *at_s < 60.0 { *v } else { v + 5_000.0 })).collect();
        let said = asked(&stepped, Tolerance::SharePerHour(0.05)).sentence_in_shares();
        assert!(
            said.starts_with("p99 stepped up by ")
                && said.ends_with("; too short to tell of a drift since then"),
            "{said}"
        );
    }

    #[test]
    fn each_answer_has_its_sentence() {
        let noise = |i: f64| f64::from((i as u32 * 7_919) % 11) - 5.0;
        assert_eq!(
            ask(|i| 100.0 + i).sentence(kib),
            "memory grew 60 KiB an hour [60 KiB, 60 KiB]: 1440 KiB a day"
        );
        assert_eq!(
            ask(|i| 100.0 - i).sentence(kib),
            "memory fell 60 KiB an hour [60 KiB, 60 KiB]: 1440 KiB a day"
        );
        assert_eq!(ask(|_| 5.0).sentence(kib), "no drift of memory above 0 KiB an hour seen");
        let burst = ask(|i| if i < 20.0 { 5_000.0 } else { 10.0 } + noise(i) / 10.0).sentence_in_shares();
        assert!(burst.contains("stepped down by 4") && burst.contains(" times its median at "), "{burst}");
        // From 200 to 100 with a median of 100.
        let halved = ask(|i| if i < 20.0 { 200.0 } else { 100.0 } + noise(i) / 10.0).sentence_in_shares();
        assert!(halved.contains("stepped down by ") && halved.contains("% of its median at "), "{halved}");
        let points: Vec<_> = (0..60).map(|i| (f64::from(i) * 3600.0, 5.0)).collect();
        let days = drift(&Series { figure: "memory", points: &points }, &Question::default()).unwrap();
        assert_eq!(days.sentence(kib), "no drift of memory above 0 KiB a day seen");
        let steady = ask(|i| 1_000.0 + noise(i)).sentence_in_shares();
        assert!(
            steady.starts_with("no drift of memory above ") && steady.ends_with("% an hour seen"),
            "{steady}"
        );
        let settled = ask(|i| 1_000.0 + 50.0 * i.min(20.0) + noise(i)).sentence(kib);
        assert!(settled.contains(" KiB an hour slower since 0:2"), "{settled}");
        assert!(settled.contains("; since then no drift above "), "{settled}");
        let counted = |size: f64| Drift {
            changes: vec![Change { kind: Kind::Bend, size, ..ask(|i| i.min(20.0) * 1e6).changes[0].clone() }],
            ..ask(|_| 5.0)
        };
        assert_eq!(counted(1e-9).sentence(kib), "no drift of memory above 0 KiB an hour seen");
        assert!(counted(-9.0).sentence(kib).starts_with("memory has grown 9 KiB an hour slower since 0:"));
        let stepped = ask(|i| 1_000.0 + if i < 30.0 { 0.0 } else { 100.0 } + noise(i)).sentence(kib);
        assert!(
            stepped.starts_with("memory stepped up by ") && stepped.contains(" at 0:29:30; "),
            "{stepped}"
        );
    }
}
