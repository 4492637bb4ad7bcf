use super::find::Kind;
use super::origin::{Base, Origin, Place};

/// The most references of one document that are kept; further ones are counted.
const REFERENCES_MAX: usize = 4096;

/// The further parts of a page, as found in a reply. It is reused and keeps its memory.
#[derive(Debug, Default)]
pub struct Found {
    /// Paths with their queries, concatenated.
    text: Vec<u8>,
    references: Vec<(Kind, u32)>,
    /// References to other hosts, and those that are too many.
    pub elsewhere: u64,
    /// Bytes of content.
    pub bytes: u64,
    /// The redirect in the reply, if any.
    pub redirect: Redirect,
}

/// Where a reply redirects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Redirect {
    /// Nowhere.
    #[default]
    None,
    /// To this path of the same host.
    Here(Vec<u8>),
    /// To another host, or to an invalid address.
    Elsewhere,
}

/// A part of a page on the same host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference<'a> {
    /// Its kind.
    pub kind: Kind,
    /// Its path with its query.
    pub target: &'a [u8],
}

impl Found {
    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        self.text.clear();
        self.references.clear();
        (self.elsewhere, self.bytes, self.redirect) = (0, 0, Redirect::None);
    }

    /// Notes an address of a document.
    pub fn note(&mut self, origin: &Origin, base: &mut Base, kind: Kind, address: &[u8]) {
        if kind == Kind::Base {
            return base.change(origin, address);
        }
        let start = self.text.len();
        match base.resolve(origin, address, &mut self.text) {
            Place::Here if self.references.len() < REFERENCES_MAX => {
                self.references.push((kind, self.text.len() as u32));
            }
            Place::Here | Place::Elsewhere => {
                self.text.truncate(start);
                self.elsewhere += 1;
            }
            Place::Nowhere => self.text.truncate(start),
        }
    }

    /// The parts on the same host, in document order; an address may occur several times.
    pub fn references(&self) -> impl Iterator<Item = Reference<'_>> {
        let starts = std::iter::once(0).chain(self.references.iter().map(|(_, end)| *end));
        starts
            .zip(&self.references)
            .map(|(start, &(kind, end))| Reference { kind, target: &self.text[start as usize..end as usize] })
    }
}
