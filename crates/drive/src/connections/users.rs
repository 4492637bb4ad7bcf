use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use pitot_client::page::{Found, Kind, Redirect, Search};
use pitot_meter::Nanos;

use crate::growth::Growth;
use crate::pages::PageTally;
use crate::sample::{ErrorPhase, Outcome};
use crate::share::Share;

/// What belongs to one page, at most; what a page refers to beyond that is not got.
const OBJECTS_MAX: usize = 10_000;
/// Objects that a user remembers to have got. One more, and all are forgotten.
const CACHE_MAX: usize = 65_536;

/// The users of a thread that runs as browsers do. Each has a row of so many slots, and reads one page at a time: first
/// its document, then what belongs to it, over all the slots of the row.
pub(super) struct Users {
    /// Slots of each user; those of the first come first.
    width: u32,
    /// Objects that a user has got are not got again.
    cache: bool,
    crowd: Crowd,
    users: Vec<User>,
    /// What the requests under way on each slot are for, in their order: indices into what belongs to the user's page.
    tasks: Vec<VecDeque<u32>>,
    /// Pages that are being read.
    pub(super) reading: u64,
    pub(super) tally: PageTally,
}

/// How many users of the whole run there are when, and which of them are those of this thread.
#[derive(Clone)]
pub(super) struct Crowd {
    /// `None` if all are there all the time.
    pub(super) growth: Option<Arc<Growth>>,
    pub(super) share: Share,
}

pub(super) struct User {
    pub(super) state: UserState,
    page: Page,
    /// Hashes of the paths of objects that need not be got again.
    cached: HashSet<u64>,
}

/// What a user does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UserState {
    /// Thinks, until an alarm goes off.
    Away,
    /// Could read a page since then.
    Due {
        since: Nanos,
    },
    Reading,
    /// Has read a page, up to then.
    Done {
        at: Nanos,
    },
}

/// A page that is being read. It keeps its memory for the next one.
#[derive(Default)]
struct Page {
    intended: Nanos,
    measured: bool,
    /// The paths of `entries`, one after the other.
    text: Vec<u8>,
    /// All that is to be got, in order. The first is the document, whose path is drawn when it is asked for.
    entries: Vec<Entry>,
    /// Index of the first that is not asked for.
    next: u32,
    /// Those that are asked for and have not ended.
    unfinished: u32,
    /// Hashes of the paths of all entries.
    seen: HashSet<u64>,
    /// All replies so far were right.
    right: bool,
    /// All requests so far were answered in full.
    complete: bool,
    /// Of those that were not, all timed out.
    late: bool,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    role: Role,
    /// Where its path ends.
    end: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Document,
    /// The document, at the path that the server sent its reader to.
    Redirected,
    /// Something that belongs to the document and may refer to more.
    Embedded(Search),
}

impl Users {
    pub(super) fn new(count: u64, width: u16, cache: bool, crowd: Crowd) -> Users {
        let user = || User { state: UserState::Away, page: Page::default(), cached: HashSet::new() };
        Users {
            width: u32::from(width),
            cache,
            crowd,
            users: std::iter::repeat_with(user).take(count as usize).collect(),
            tasks: vec![VecDeque::new(); count as usize * usize::from(width)],
            reading: 0,
            tally: PageTally::default(),
        }
    }

    pub(super) fn count(&self) -> u32 {
        self.users.len() as u32
    }

    /// The user whom a slot belongs to.
    pub(super) fn of(&self, slot: u32) -> u32 {
        slot / self.width
    }

    /// The slots of a user.
    pub(super) fn slots(&self, user: u32) -> std::ops::Range<u32> {
        user * self.width..(user + 1) * self.width
    }

    /// When a user who could read a page at `at`, from the start of the run, is there to do so; `None` for never again.
    pub(super) fn there_at(&self, user: u32, at: Nanos) -> Option<Nanos> {
        match &self.crowd.growth {
            // Threads take turns, so that together they have as many users as are asked for.
            Some(growth) => {
                growth.from(u64::from(user) * self.crowd.share.count + self.crowd.share.index, at)
            }
            None => Some(at),
        }
    }

    pub(super) fn state(&self, user: u32) -> UserState {
        self.users[user as usize].state
    }

    pub(super) fn set(&mut self, user: u32, state: UserState) {
        self.users[user as usize].state = state;
    }

    /// A user begins to read a page that was due then.
    pub(super) fn begin(&mut self, user: u32, intended: Nanos, measured: bool) {
        let user = &mut self.users[user as usize];
        user.state = UserState::Reading;
        user.page.begin(intended, measured);
        self.reading += 1;
        self.tally.begun += u64::from(measured);
    }

    /// Makes the next request of this slot one for the next thing of the user's page, and returns when it was due, if that
    /// is known; `None` if all is asked for.
    pub(super) fn assign(&mut self, user: u32, slot: u32) -> Option<Option<Nanos>> {
        let user = &mut self.users[user as usize];
        let page = &mut user.page;
        if user.state != UserState::Reading || page.next as usize >= page.entries.len() {
            return None;
        }
        let index = page.next;
        self.tasks[slot as usize].push_back(index);
        page.next += 1;
        page.unfinished += 1;
        Some((page.entries[index as usize].role == Role::Document).then_some(page.intended))
    }

    /// What the `nth` oldest request of the slot is to ask for, and what the reply is to be searched for; `None` for a page
    /// that is drawn, and for a slot of no user.
    pub(super) fn target(&self, slot: u32, nth: u16) -> Option<(&[u8], Search)> {
        let index = *self.tasks.get(slot as usize)?.get(usize::from(nth))?;
        let page = &self.users[(slot / self.width) as usize].page;
        let search = match page.entries[index as usize].role {
            Role::Document => return None,
            Role::Redirected => Search::Html,
            Role::Embedded(search) => search,
        };
        Some((page.path(index), search))
    }

    /// The `nth` oldest request of a slot has its complete reply. True if the page has no reply that is of use: the server sent the
    /// user on, and it was not followed.
    pub(super) fn replied(
        &mut self,
        (slot, nth): (u32, u16),
        now: Nanos,
        response: Nanos,
        outcome: Outcome,
        found: &Found,
    ) -> bool {
        let Some(index) = self.tasks[slot as usize].remove(usize::from(nth)) else { return false };
        let user = &mut self.users[(slot / self.width) as usize];
        let page = &mut user.page;
        let role = page.entries[index as usize].role;
        page.bytes += found.bytes;
        page.right &= outcome == Outcome::Right;
        let is_document = matches!(role, Role::Document | Role::Redirected);
        if page.measured {
            self.tally.elsewhere += found.elsewhere;
            let kind = if is_document { &mut self.tally.document } else { &mut self.tally.embedded };
            kind.record(response);
        }
        let mut astray = false;
        match (&found.redirect, role) {
            (Redirect::Here(target), Role::Document) => {
                page.add(Role::Redirected, target);
                self.tally.redirected += u64::from(page.measured);
            }
            (Redirect::Here(_) | Redirect::Elsewhere, Role::Document | Role::Redirected) => {
                page.right = false;
                astray = true;
            }
            (_, Role::Embedded(_)) | (Redirect::None, _) => {}
        }
        if self.cache && outcome == Outcome::Right && !is_document {
            if user.cached.len() >= CACHE_MAX {
                user.cached.clear();
            }
            user.cached.insert(hash(page.path(index)));
        }
        for reference in found.references() {
            let search = match reference.kind {
                // What is found in something embedded is got and not searched.
                _ if !is_document => Search::Nothing,
                Kind::StyleSheet => Search::Css,
                Kind::Frame => Search::Html,
                Kind::Object | Kind::Base => Search::Nothing,
            };
            let key = hash(reference.target);
            if !page.seen.insert(key) {
                continue;
            }
            if user.cached.contains(&key) {
                self.tally.cached += u64::from(page.measured);
            } else if page.entries.len() >= OBJECTS_MAX {
                self.tally.elsewhere += u64::from(page.measured);
            } else {
                page.add(Role::Embedded(search), reference.target);
            }
        }
        self.ended(slot, now);
        astray
    }

    /// The `nth` oldest request of a slot has ended without a complete reply.
    pub(super) fn failed(&mut self, (slot, nth): (u32, u16), now: Nanos, phase: ErrorPhase) {
        if self.tasks[slot as usize].remove(usize::from(nth)).is_none() {
            return;
        }
        let page = &mut self.users[(slot / self.width) as usize].page;
        page.right = false;
        page.complete = false;
        page.late &= phase == ErrorPhase::Timeout;
        self.ended(slot, now);
    }

    /// The request of a slot has ended, and maybe the page with it.
    fn ended(&mut self, slot: u32, now: Nanos) {
        let user = &mut self.users[(slot / self.width) as usize];
        let page = &mut user.page;
        page.unfinished -= 1;
        if page.unfinished > 0 || (page.next as usize) < page.entries.len() {
            return;
        }
        user.state = UserState::Done { at: now };
        self.reading -= 1;
        if !page.measured {
            return;
        }
        let tally = &mut self.tally;
        if page.complete {
            tally.completed += 1;
            tally.ok += u64::from(page.right);
            tally.objects +=
                page.entries.iter().filter(|e| matches!(e.role, Role::Embedded(_))).count() as u64;
            tally.bytes += page.bytes;
        } else {
            tally.failed += 1;
        }
        // Of a page that was given up after a timeout a lower bound is known; without it the worst would be missing.
        if page.complete || page.late {
            tally.time.record(now.since(page.intended));
        }
    }

    /// The run ends, with some pages half read.
    pub(super) fn finish(mut self) -> PageTally {
        let cut = |user: &&User| user.state == UserState::Reading && user.page.measured;
        self.tally.cut = self.users.iter().filter(cut).count() as u64;
        self.tally
    }
}

impl Page {
    fn begin(&mut self, intended: Nanos, measured: bool) {
        self.text.clear();
        self.entries.clear();
        self.seen.clear();
        self.add(Role::Document, b"");
        (self.intended, self.measured) = (intended, measured);
        (self.next, self.unfinished, self.bytes) = (0, 0, 0);
        (self.right, self.complete, self.late) = (true, true, true);
    }

    fn add(&mut self, role: Role, path: &[u8]) {
        self.text.extend_from_slice(path);
        self.entries.push(Entry { role, end: self.text.len() as u32 });
    }

    fn path(&self, index: u32) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.entries[before as usize].end);
        &self.text[start as usize..self.entries[index as usize].end as usize]
    }
}

/// The same for the same path, in a run and in another.
fn hash(path: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}
