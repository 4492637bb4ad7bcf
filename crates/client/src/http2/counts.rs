use super::codes::{self, CODES};

/// Counts of all connections of a slot.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// The highest limit of streams that a server announced.
    pub(super) streams_max: Option<u32>,
    /// Counts that most connections never need.
    rare: Option<Box<Rare>>,
}

#[derive(Debug, Default)]
struct Rare {
    goaways: [u64; CODES],
    resets: [u64; CODES],
    given_back: u64,
    stalls: u64,
    stalled_ns: u64,
}

impl Counts {
    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    #[cold]
    pub(super) fn goaway(&mut self, code: u32) {
        self.rare().goaways[codes::index(code)] += 1;
    }

    #[cold]
    pub(super) fn reset(&mut self, code: u32) {
        self.rare().resets[codes::index(code)] += 1;
    }

    /// Requests that a server gave back with GOAWAY.
    #[cold]
    pub(super) fn given_back(&mut self, requests: usize) {
        self.rare().given_back += requests as u64;
    }

    /// A request begins to wait for a window.
    #[cold]
    pub(super) fn stall(&mut self) {
        self.rare().stalls += 1;
    }

    /// A request has waited for `ns`.
    #[cold]
    pub(super) fn stalled(&mut self, ns: u64) {
        self.rare().stalled_ns += ns;
    }

    /// All counts that are not zero, by name.
    pub(super) fn list(&self) -> Vec<(&'static str, u64)> {
        let mut list = Vec::new();
        if let Some(max) = self.streams_max {
            list.push(("max-concurrent-streams", u64::from(max)));
        }
        if let Some(rare) = &self.rare {
            list.extend([
                ("given-back", rare.given_back),
                ("window-stalls", rare.stalls),
                ("window-stalled-ns", rare.stalled_ns),
            ]);
            for code in 0..CODES {
                list.push((codes::goaway(code as u32), rare.goaways[code]));
                list.push((codes::reset(code as u32), rare.resets[code]));
            }
        }
        list.retain(|(_, count)| *count > 0);
        list
    }
}
