//! Those who watch a run or a soak of a command.

use pitot_lab::Event;

use crate::events::Events;
use crate::progress::Display;

/// What is shown to the user, and told to a program.
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
