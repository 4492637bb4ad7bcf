//! Steps of the wall clock, which affect timestamps in logs but not the soak's time.

use std::time::{Duration, Instant, SystemTime};

use pitot_record::soak::{Event, EventKind};

/// A larger difference between the clocks is a step. Slewing is at most 500 ppm.
const STEP: Duration = Duration::from_millis(100);

/// Watches the wall clock for steps.
#[derive(Debug)]
pub(crate) struct Clock {
    wall: SystemTime,
    steady: Instant,
}

impl Clock {
    pub(crate) fn read() -> Clock {
        Clock { wall: SystemTime::now(), steady: Instant::now() }
    }

    /// The event, if the wall clock was set since the last call.
    pub(crate) fn step(&mut self, now_s: f64) -> Option<Event> {
        let now = Clock::read();
        let steady_s = now.steady.duration_since(self.steady).as_secs_f64();
        let wall_s = match now.wall.duration_since(self.wall) {
            Ok(forward) => forward.as_secs_f64(),
            Err(back) => -back.duration().as_secs_f64(),
        };
        *self = now;
        let step_s = wall_s - steady_s;
        (step_s.abs() > STEP.as_secs_f64()).then(|| Event {
            at_s: now_s,
            until_s: None,
            subject: None,
            kind: EventKind::ClockStep,
            sentence: format!("the wall clock was set by {step_s:+.3} s"),
            evidence: String::new(),
        })
    }
}
