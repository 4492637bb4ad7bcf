//! Range fields: what comes out is disjoint, inside, and never more than the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pitot_proto::http::range::{self, RANGES_MAX, Ranges};

fuzz_target!(|data: &[u8]| {
    let Some((size, value)) = data.split_first_chunk::<8>() else { return };
    // Sizes of every order of magnitude, the largest too.
    let size = u64::from_le_bytes(*size) >> (size[0] % 64);
    let Ranges::Parts(parts) = range::resolve(value, size) else { return };
    assert!((1..=RANGES_MAX).contains(&parts.len()));
    for (i, part) in parts.iter().enumerate() {
        assert!(part.start < part.end && part.end <= size);
        assert!(parts[..i].iter().all(|p| p.end <= part.start || part.end <= p.start));
    }
});
