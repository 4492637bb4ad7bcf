//! Those who watch a run or a soak of a command.

use pitot_lab::Event;

use crate::events::Events;
use crate::metrics::{RunMetrics, SoakMetrics};
use crate::progress::Display;

/// What is shown to the user, and told to programs.
pub(crate) struct Watched {
    pub(crate) display: Display,
    pub(crate) events: Option<Events>,
    pub(crate) metrics: Option<Metrics>,
}

/// What is published for Prometheus.
pub(crate) enum Metrics {
    Run(Box<RunMetrics>),
    Soak(Box<SoakMetrics>),
}

impl Watched {
    pub(crate) fn take(&mut self, event: &Event<'_>) {
        if let Some(events) = &mut self.events {
            events.write(event);
        }
        self.display.show(event);
        match &mut self.metrics {
            Some(Metrics::Run(metrics)) => metrics.take(event),
            Some(Metrics::Soak(metrics)) => metrics.take(event, self.display.drifts()),
            None => {}
        }
    }
}
