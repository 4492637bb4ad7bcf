use std::collections::VecDeque;

use super::user::RequestId;
use crate::exchange::Tag;
use crate::judgement::Judgement;

#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: u32,
    pub(super) tag: Tag,
    /// The user slot, on a connection with a driver.
    pub(super) slot: u16,
    /// The beginning of the reply has been reported.
    pub(super) has_begun: bool,
    /// The final head of the reply has come.
    pub(super) has_head: bool,
    /// The reply has no body, whatever its headers say.
    pub(super) bodiless: bool,
    /// The announced length of the body, bytes.
    pub(super) length: Option<u64>,
    pub(super) judgement: Judgement,
    /// Bytes received since the window was last extended.
    pub(super) received: u32,
    /// Bytes of the request's body that may be sent now. New settings can make it negative.
    pub(super) window: i64,
    /// Bytes of the request's body still to be sent.
    pub(super) unsent: usize,
    /// Since when they wait for a window, ns; 0 if they do not.
    pub(super) stalled_since: u64,
}

impl Stream {
    /// A request with a body of `unsent` bytes, to a server with that window.
    pub(super) fn new(id: u32, tag: Tag, window: u32, unsent: usize) -> Stream {
        Stream {
            id,
            tag,
            slot: 0,
            has_begun: false,
            has_head: false,
            bodiless: false,
            length: None,
            judgement: Judgement::NONE,
            received: 0,
            window: i64::from(window),
            unsent,
            stalled_since: 0,
        }
    }

    pub(super) fn request_id(&self) -> RequestId {
        RequestId { tag: self.tag, slot: self.slot }
    }
}

/// The requests in flight on a connection, in the order in which they were sent. Their stream numbers have the same order,
/// unless one of them continues on another stream.
#[derive(Debug, Default)]
pub(super) struct Streams {
    all: VecDeque<Stream>,
    /// Their numbers are out of order.
    mixed: bool,
}

impl Streams {
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.mixed = false;
    }

    pub(super) fn push(&mut self, stream: Stream) {
        self.all.push_back(stream);
    }

    /// Inserts a stream on which the request of an earlier stream continues.
    pub(super) fn insert(&mut self, nth: usize, stream: Stream) {
        self.mixed |= nth < self.all.len();
        self.all.insert(nth, stream);
    }

    /// The index of an open stream. Replies come in the order of their requests, or nearly so.
    #[inline]
    pub(super) fn find(&self, id: u32) -> Option<usize> {
        match self.all.front() {
            Some(first) if first.id == id => Some(0),
            Some(_) if self.mixed => self.all.iter().position(|stream| stream.id == id),
            Some(_) => self.all.binary_search_by_key(&id, |stream| stream.id).ok(),
            None => None,
        }
    }

    #[inline]
    pub(super) fn get(&mut self, nth: usize) -> &mut Stream {
        &mut self.all[nth]
    }

    pub(super) fn remove(&mut self, nth: usize) -> Option<Stream> {
        self.all.remove(nth)
    }

    /// Removes streams from the end, as long as their number is above `last`.
    pub(super) fn above(&mut self, last: u32) -> impl Iterator<Item = Stream> + '_ {
        let kept = self.all.iter().rposition(|stream| stream.id <= last).map_or(0, |nth| nth + 1);
        self.all.drain(kept..)
    }

    /// The first remaining stream with a number above `last`.
    pub(super) fn first_above(&self, last: u32) -> Option<usize> {
        self.all.iter().position(|stream| stream.id > last)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.all.iter_mut()
    }
}
