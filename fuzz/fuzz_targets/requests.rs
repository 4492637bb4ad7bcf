//! Files of requests in every format: what is read is consistent, and what is a log stays in its order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pitot_client::Url;
use pitot_requests::{FORMATS, Format};

fuzz_target!(|data: &[u8]| {
    let target = Url::parse("http://h/").expect("a sound URL");
    let shown = Format::of(data);
    assert!(FORMATS.iter().any(|format| std::ptr::eq(format, shown)));
    for format in FORMATS {
        let Ok(parsed) = format.parse(data, &target) else { continue };
        assert!(parsed.requests.len() + parsed.sessions.len() > 0, "{}: nothing, and no flaw", format.name);
        assert!(parsed.order.iter().all(|&n| (n as usize) < parsed.requests.len()));
        assert_eq!(parsed.order.len(), parsed.seconds.len());
        assert!(parsed.seconds.is_sorted() && parsed.seconds.first().is_none_or(|&first| first == 0));
        let lines: f64 = parsed.requests.iter().map(|request| request.weight).sum();
        assert!(parsed.order.is_empty() || lines == parsed.order.len() as f64);
    }
});
