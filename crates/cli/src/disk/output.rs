//! Words of both commands.

use pitot_disk::cache::Residency;
use pitot_results::disk::CacheResidency;

/// What the page cache held, and which system call counted it.
pub(super) fn residency(residency: &Residency) -> CacheResidency {
    CacheResidency {
        resident_pages: residency.resident,
        pages: residency.total,
        witness: residency.witness.name().into(),
    }
}

/// Bytes with the binary unit that divides them: `64KiB`, `1000`.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        b if b > 0 && b.is_multiple_of(1 << 30) => format!("{}GiB", b >> 30),
        b if b > 0 && b.is_multiple_of(1 << 20) => format!("{}MiB", b >> 20),
        b if b > 0 && b.is_multiple_of(1 << 10) => format!("{}KiB", b >> 10),
        b => b.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_the_largest_unit_that_divides_them() {
        for (bytes, text) in [(0, "0"), (1000, "1000"), (4096, "4KiB"), (1 << 20, "1MiB"), (3 << 30, "3GiB")]
        {
            assert_eq!(size(bytes), text);
        }
    }
}
