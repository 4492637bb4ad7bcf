//! Pages, for the summary.

use std::fmt::Write as _;

use pitot_meter::units::{bytes, counted, grouped};
use pitot_results::Latency;
use pitot_results::load::{LoadResult, Pages};

/// The rows of the table of latencies that are about pages.
pub(super) fn rows(result: &LoadResult) -> impl Iterator<Item = (&'static str, &Latency)> {
    result.pages.iter().flat_map(|pages| {
        [("page", &pages.time_ns), ("document", &pages.document_ns), ("embedded", &pages.embedded_ns)]
    })
}

/// The counts.
pub(super) fn totals(text: &mut String, pages: &Pages) {
    let asked = pages.asked_per_s.map(|rate| format!(" of {rate:.1} asked for"));
    let _ = writeln!(
        text,
        "  {}: {} right, {} with something wrong or late, {} failed; {:.1} a second{}",
        counted(pages.begun, "page", "pages"),
        grouped(pages.ok),
        grouped(pages.completed - pages.ok),
        grouped(pages.failed),
        pages.per_s,
        asked.unwrap_or_default()
    );
    if pages.cut > 0 {
        let _ = writeln!(text, "  {} half read when the run ended", counted(pages.cut, "page", "pages"));
    }
    if pages.missed > 0 {
        let missed = counted(pages.missed, "page was", "pages were");
        let _ = writeln!(text, "  {missed} due and could not be started");
    }
    let _ = writeln!(
        text,
        "  {:.1} embedded objects and {} to a page",
        pages.objects_per_page,
        bytes(pages.bytes_per_page.round() as u64)
    );
    for (count, one, several) in [
        (pages.cached, "object was in its user's cache", "objects were in their users' caches"),
        (
            pages.redirected,
            "page was found at another path (redirect)",
            "pages were found at another path (redirect)",
        ),
        (
            pages.elsewhere,
            "reference to another host was not followed",
            "references to other hosts were not followed",
        ),
    ] {
        if count > 0 {
            let _ = writeln!(text, "  {}", counted(count, one, several));
        }
    }
}
