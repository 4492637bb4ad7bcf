//! What is counted of pages, in a run whose users read pages as browsers do.

use pitot_meter::{Histogram, Nanos};
use pitot_results::Latency;
use pitot_results::load::Pages;
use serde::{Deserialize, Serialize};

use crate::histogram_text as text;

/// Pages whose intended time lies in the measured part, and what belongs to them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PageTally {
    pub(crate) begun: u64,
    /// All requests answered in full.
    pub completed: u64,
    /// And rightly, and in time.
    pub ok: u64,
    /// A request had no complete reply.
    pub failed: u64,
    /// Under way when the run ended.
    pub cut: u64,
    /// Due and never begun.
    pub missed: u64,
    /// Embedded objects of completed pages.
    pub objects: u64,
    /// Content of completed pages with all that belongs to them.
    pub bytes: u64,
    /// References that were not followed since they lead to other hosts, or a page had too many.
    pub elsewhere: u64,
    /// Objects that were not got since the user had got them before.
    pub cached: u64,
    /// Redirects of pages that were followed.
    pub redirected: u64,
    /// From the intended start of a page until all that belongs to it is complete.
    #[serde(with = "text")]
    pub time: Histogram,
    /// Response times of the pages' own documents.
    #[serde(with = "text")]
    pub document: Histogram,
    /// Response times of what belongs to them.
    #[serde(with = "text")]
    pub embedded: Histogram,
}

impl PageTally {
    /// Adds what another thread or process counted in the same run.
    pub fn merge(&mut self, other: &PageTally) {
        self.begun += other.begun;
        self.completed += other.completed;
        self.ok += other.ok;
        self.failed += other.failed;
        self.cut += other.cut;
        self.missed += other.missed;
        self.objects += other.objects;
        self.bytes += other.bytes;
        self.elsewhere += other.elsewhere;
        self.cached += other.cached;
        self.redirected += other.redirected;
        self.time.merge(&other.time);
        self.document.merge(&other.document);
        self.embedded.merge(&other.embedded);
    }

    /// The figures of a measured part of that length, in which pages were due at a rate if one was asked for.
    pub fn figures(&self, length: Nanos, asked_per_s: Option<f64>) -> Pages {
        let per_page =
            |total: u64| if self.completed == 0 { 0.0 } else { total as f64 / self.completed as f64 };
        Pages {
            begun: self.begun,
            completed: self.completed,
            ok: self.ok,
            failed: self.failed,
            cut: self.cut,
            missed: self.missed,
            per_s: if length == Nanos::ZERO { 0.0 } else { self.completed as f64 / length.as_secs_f64() },
            asked_per_s,
            objects_per_page: per_page(self.objects),
            bytes_per_page: per_page(self.bytes),
            elsewhere: self.elsewhere,
            cached: self.cached,
            redirected: self.redirected,
            time_ns: Latency::of(&self.time),
            document_ns: Latency::of(&self.document),
            embedded_ns: Latency::of(&self.embedded),
        }
    }
}
