use std::collections::VecDeque;

use crate::client::exchange::Tag;
use crate::client::judgement::Judgement;

/// A request under way.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: u32,
    pub(super) tag: Tag,
    /// The final head of the reply has come.
    pub(super) has_head: bool,
    /// It has no body, whatever its headers say.
    pub(super) bodiless: bool,
    /// The length of the body that the headers say.
    pub(super) length: Option<u64>,
    pub(super) judgement: Judgement,
    /// Bytes received since the window was last opened.
    pub(super) received: u32,
    /// Bytes of the request's body that may be sent now. New settings can make it negative.
    pub(super) window: i64,
    /// Bytes of the request's body that are not sent.
    pub(super) unsent: usize,
    /// Since when they wait for a window; 0 if they do not.
    pub(super) stalled_since: u64,
}

/// The requests under way on a connection, in the order in which they were sent, which is that of their numbers too.
#[derive(Debug, Default)]
pub(super) struct Streams {
    all: VecDeque<Stream>,
}

impl Streams {
    pub(super) fn clear(&mut self) {
        self.all.clear();
    }

    pub(super) fn push(&mut self, stream: Stream) {
        self.all.push_back(stream);
    }

    /// The place of a stream among those that are open. Replies come in the order of their requests or nearly so.
    #[inline]
    pub(super) fn find(&self, id: u32) -> Option<usize> {
        match self.all.front() {
            Some(first) if first.id == id => Some(0),
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

    /// Takes those out whose number is above `last`.
    pub(super) fn above(&mut self, last: u32) -> impl Iterator<Item = Stream> + '_ {
        let kept = self.all.partition_point(|stream| stream.id <= last);
        self.all.drain(kept..)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.all.iter_mut()
    }
}
