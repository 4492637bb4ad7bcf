use pitot_lab::Event;

use super::Display;
use crate::events::Events;

/// Those who watch a run.
pub(crate) struct Watched {
    pub(crate) display: Display,
    pub(crate) events: Option<Events>,
}

impl Watched {
    pub(crate) fn take(&mut self, event: &Event<'_>) {
        if let Some(events) = &mut self.events {
            events.write(event);
        }
        self.display.show(event);
    }
}
