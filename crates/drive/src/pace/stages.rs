use pitot_meter::{Nanos, units};

use super::entry::{Arrivals, OpenPace, Pace, PaceEntry, Uses, seconds};
use crate::share::Share;

pub(super) const ENTRY: PaceEntry = PaceEntry {
    name: "stages",
    summary: "the rate rises and falls in ramps (--stages FROM:TO:DURATION,...)",
    doc: "An open loop whose rate changes linearly within each stage: 0:1000rps:30s,1000:5000rps:1m. The number of \
          connections stays the same; only the rate changes. The run ends with the last stage.",
    uses: Uses { rate: false, think: false, stages: true, search: false, recorded: false },
    random: false,
    implied: |options| options.stages.is_some(),
    build: |options| {
        let text =
            options.stages.as_deref().ok_or("the pace `stages` needs --stages FROM:TO:DURATION,...")?;
        Ok(Pace::Open(Box::new(parse(text)?)))
    },
};

#[derive(Clone, Debug, PartialEq)]
struct Stages(Vec<Stage>);

/// A ramp, and what comes before it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stage {
    from: f64,
    to: f64,
    length_s: f64,
    starts_s: f64,
    /// Arrivals in all stages before.
    before: f64,
}

fn parse(text: &str) -> Result<Stages, String> {
    let mut stages: Vec<Stage> = Vec::new();
    for word in text.split(',') {
        let mut parts = word.split(':');
        let (Some(from), Some(to), Some(length), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(format!("the stage `{word}` is not FROM:TO:DURATION, such as 0:1000rps:30s"));
        };
        let rate = |word| units::rate(word).map_err(|e| e.to_string());
        let length = units::duration(length).map_err(|e| e.to_string())?;
        if length == Nanos::ZERO {
            return Err(format!("the stage `{word}` has no length"));
        }
        let (starts_s, before) =
            stages.last().map_or((0.0, 0.0), |s| (s.starts_s + s.length_s, s.before + s.all()));
        stages.push(Stage {
            from: rate(from)?,
            to: rate(to)?,
            length_s: length.as_secs_f64(),
            starts_s,
            before,
        });
    }
    if stages.iter().all(|s| s.all() == 0.0) {
        return Err("no stage has a rate above 0".into());
    }
    Ok(Stages(stages))
}

impl Stage {
    /// Arrivals in the whole stage.
    fn all(&self) -> f64 {
        (self.from + self.to) / 2.0 * self.length_s
    }

    /// Arrivals in the first `t` seconds of the stage: the integral of the rate.
    fn arrivals_until(&self, t: f64) -> f64 {
        self.from * t + (self.to - self.from) / self.length_s * t * t / 2.0
    }

    /// When the `n`th arrival of the stage comes: the inverse of [`Stage::arrivals_until`], in the form of the
    /// quadratic formula that divides by no small number.
    fn time_of(&self, n: f64) -> f64 {
        let slope = (self.to - self.from) / self.length_s;
        let root = (self.from * self.from + 2.0 * slope * n).max(0.0).sqrt();
        if n == 0.0 { 0.0 } else { (2.0 * n / (self.from + root)).min(self.length_s) }
    }
}

impl OpenPace for Stages {
    fn arrivals(&self, share: Share, _: u64) -> Arrivals {
        let stages = self.0.clone();
        let mut at = 0;
        Box::new((0u64..).map_while(move |n| {
            let number = (n * share.count + share.index) as f64;
            while number >= stages.get(at)?.before + stages[at].all() {
                at += 1;
            }
            let stage = &stages[at];
            Some(seconds(stage.starts_s + stage.time_of(number - stage.before)))
        }))
    }

    fn expected(&self, at: Nanos) -> f64 {
        let t = at.as_secs_f64();
        self.0.iter().map(|s| s.arrivals_until((t - s.starts_s).clamp(0.0, s.length_s))).sum()
    }

    fn length(&self) -> Option<Nanos> {
        self.0.last().map(|s| seconds(s.starts_s + s.length_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_sends_as_many_as_its_area() {
        let pace = parse("0:1000rps:10s,1000:0:10s,500:500:2s").unwrap();
        assert_eq!(pace.length(), Some(Nanos::from_secs(22)));
        let times: Vec<Nanos> = pace.arrivals(Share::WHOLE, 0).collect();
        assert_eq!(times.len(), 11_000);
        let within = |from, to| {
            times.iter().filter(|t| (Nanos::from_secs(from)..Nanos::from_secs(to)).contains(t)).count() as i64
        };
        for (from, to, expected) in
            [(0, 5, 1250), (5, 10, 3750), (10, 15, 3750), (15, 20, 1250), (20, 21, 500)]
        {
            assert!((within(from, to) - expected).abs() <= 1, "{from}-{to}: {}", within(from, to));
            let by_integral = pace.expected(Nanos::from_secs(to)) - pace.expected(Nanos::from_secs(from));
            assert!((by_integral - expected as f64).abs() < 1e-6);
        }
    }

    #[test]
    fn a_stage_without_requests_is_a_pause() {
        let pace = parse("100:100:1s,0:0:1s,100:100:1s").unwrap();
        let times: Vec<Nanos> = pace.arrivals(Share::WHOLE, 0).collect();
        assert_eq!(times.len(), 200);
        assert!(times.iter().all(|t| !(Nanos::from_secs(1)..Nanos::from_secs(2)).contains(t)));
    }

    #[test]
    fn bad_stages_are_named() {
        for text in ["", "5", "1:2", "1:2:3", "1:2:3s:4", "a:2:3s", "1:2:0s", "0:0:5s", "-1:2:3s", "1:2:3s,"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
