use pitot_lab::Event;

use crate::events::Events;
use crate::progress::Display;

/// Those who watch a run.
pub(super) struct Watched {
    pub(super) display: Display,
    pub(super) events: Option<Events>,
}

impl Watched {
    pub(super) fn take(&mut self, event: &Event<'_>) {
        if let Some(events) = &mut self.events {
            events.write(event);
        }
        self.display.show(event);
    }
}
