//! Events for open pages (Server-Sent Events, section 9.2 of the HTML standard).
//!
//! Each file has one watcher, however many pages show it. It looks once a second, and reads the file only if it has changed; all pages get
//! the same bytes, without a copy. A slow reader misses states in between and never holds up others. The watcher ends with the last page.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::{Body, Bytes};
use futures_util::stream;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use crate::pages::list_hash;
use crate::shelf::{AGE_MIN, Opened, Shelf};

/// Looks between two events that only tell the time.
const LOOKS_PER_TIME: u32 = 5;
/// Pages that are updated at the same time.
const VIEWERS_MAX: usize = 500;

/// What a page shows.
#[derive(Clone, Debug, Default)]
struct State {
    /// The hash of the content.
    hash: u64,
    /// The event that replaces the content.
    page: Bytes,
    /// The event with the progress.
    progress: Bytes,
    is_over: bool,
}

impl State {
    fn is_unknown(&self) -> bool {
        self.page.is_empty() && self.progress.is_empty()
    }
}

/// The watchers, by the name of their file; that of the list has no name.
#[derive(Debug, Default)]
pub(crate) struct Live {
    states: Mutex<HashMap<String, watch::Sender<State>>>,
}

impl Live {
    /// Follows a file for a page that shows the content of this hash. The reply ends when what is measured does.
    pub(crate) fn follow(self: &Arc<Live>, shelf: &Arc<Shelf>, name: &str, have: u64) -> Option<Body> {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        if states.values().map(watch::Sender::receiver_count).sum::<usize>() >= VIEWERS_MAX {
            return None;
        }
        let receiver = match states.get(name) {
            Some(sender) => sender.subscribe(),
            None => {
                let (sender, receiver) = watch::channel(State::default());
                states.insert(name.to_owned(), sender.clone());
                tokio::spawn(Arc::clone(self).watch(Arc::clone(shelf), name.to_owned(), sender));
                receiver
            }
        };
        drop(states);
        Some(Body::from_stream(stream::unfold(Viewer::new(receiver, have), Viewer::event)))
    }

    async fn watch(self: Arc<Live>, shelf: Arc<Shelf>, name: String, sender: watch::Sender<State>) {
        let mut looks = interval(AGE_MIN);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut opened = None;
        for look in 0u32.. {
            looks.tick().await;
            if self.is_left(&name, &sender) {
                return;
            }
            let is_time = look % LOOKS_PER_TIME == 0;
            // A long list takes a while, and nobody waits for it.
            if name.is_empty() && !is_time {
                continue;
            }
            let (of, named) = (Arc::clone(&shelf), name.clone());
            let looked = tokio::task::spawn_blocking(move || match named.is_empty() {
                true => Look::List(list_hash(&of.items())),
                false => Look::File(of.open(&named).ok()),
            });
            // A file that is gone, or that the report fails on, is over.
            let looked = looked.await.unwrap_or(Look::File(None));
            let state = match looked {
                Look::List(hash) => Some(State { hash, page: event("changed", "now"), ..State::default() }),
                Look::File(None) => {
                    Some(State { is_over: true, progress: gone(), ..sender.borrow().clone() })
                }
                Look::File(Some(now)) => {
                    let is_new = opened.as_ref().is_none_or(|before| !Arc::ptr_eq(before, &now));
                    let state = (is_new || is_time).then(|| state_of(&now, &sender.borrow()));
                    opened = Some(now);
                    state
                }
            };
            let Some(state) = state else { continue };
            let is_over = state.is_over;
            sender.send_if_modified(|before| {
                let is_modified =
                    before.hash != state.hash || before.progress != state.progress || state.is_over;
                *before = state;
                is_modified
            });
            if is_over {
                self.states.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
                return;
            }
        }
    }

    /// Whether the last page is closed. Then the next one starts another watcher.
    fn is_left(&self, name: &str, sender: &watch::Sender<State>) -> bool {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let is_left = sender.receiver_count() == 0;
        if is_left {
            states.remove(name);
        }
        is_left
    }
}

enum Look {
    List(u64),
    File(Option<Arc<Opened>>),
}

fn state_of(opened: &Opened, before: &State) -> State {
    let progress = opened.progress();
    let page = match before.hash == opened.hash {
        true => before.page.clone(),
        false => event("page", &opened.content),
    };
    State {
        hash: opened.hash,
        page,
        progress: event("progress", &progress.data()),
        is_over: progress.is_over,
    }
}

fn gone() -> Bytes {
    let progress = pitot_report::served::Progress {
        sentence: "The file cannot be read any more".into(),
        is_over: true,
        ..Default::default()
    };
    event("progress", &progress.data())
}

/// An event: each line of its data has a line.
fn event(name: &str, data: &str) -> Bytes {
    let lines = data.split(['\n', '\r']).map(|line| ["data: ", line, "\n"]);
    let text: String =
        [["event: ", name, "\n"]].into_iter().chain(lines).chain([["\n", "", ""]]).flatten().collect();
    text.into()
}

/// A page that is open.
struct Viewer {
    receiver: watch::Receiver<State>,
    /// The hash of the content that it shows.
    have: u64,
    /// What it is sent next.
    next: Option<Bytes>,
}

impl Viewer {
    fn new(mut receiver: watch::Receiver<State>, have: u64) -> Viewer {
        // A page that has just come is told the state that is there, unless nobody has looked yet.
        if !receiver.borrow_and_update().is_unknown() {
            receiver.mark_changed();
        }
        Viewer { receiver, have, next: None }
    }

    /// The next event: after a change the content, then the progress. None once the watcher has ended.
    async fn event(mut self) -> Option<(Result<Bytes, Infallible>, Viewer)> {
        loop {
            if let Some(bytes) = self.next.take() {
                return Some((Ok(bytes), self));
            }
            self.receiver.changed().await.ok()?;
            let State { hash, page, progress, .. } = self.receiver.borrow_and_update().clone();
            let is_other = hash != self.have && !page.is_empty();
            self.have = hash;
            self.next = Some(progress).filter(|progress| !progress.is_empty());
            if is_other {
                return Some((Ok(page), self));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_holds_any_text() {
        let bytes = event("page", "<p>a\n\nevent: x\r</p>");
        assert_eq!(&*bytes, b"event: page\ndata: <p>a\ndata: \ndata: event: x\ndata: </p>\n\n");
    }
}
