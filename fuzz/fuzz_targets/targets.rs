//! Request targets and Host fields: a path that is let through stays below the root, and encoding undoes decoding.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pitot_proto::http::options::DotFiles;
use pitot_proto::http::target::{self, Named, RequestTarget};

fuzz_target!(|input: &[u8]| {
    target::is_authority(input);
    let Ok(RequestTarget::Resource { path, query }) = target::parse(input) else { return };
    assert!(path.raw.starts_with(b"/"));
    let visible = |bytes: &[u8]| bytes.iter().all(|b| matches!(b, 0x21..=0x7e) && *b != b'#');
    assert!(visible(path.raw) && query.is_none_or(visible));

    let mut file = Vec::new();
    let Ok(named) = path.decode(DotFiles::None, &mut file) else { return };
    assert_eq!(named == Named::Directory, file.is_empty() || file.ends_with(b"/"));
    let stem = file.strip_suffix(b"/").unwrap_or(&file);
    assert!(stem.is_empty() || stem.split(|&b| b == b'/').all(|c| !c.is_empty() && c[0] != b'.'));
    assert!(!file.contains(&0) && !file.contains(&b'\\'));

    let (mut encoded, mut again) = (Vec::new(), Vec::new());
    target::encode(&file, &mut encoded);
    assert!(visible(&encoded) && encoded.starts_with(b"/") && !encoded.starts_with(b"//"));
    let Ok(RequestTarget::Resource { path, query: None }) = target::parse(&encoded) else {
        panic!("an encoded path is no target")
    };
    assert_eq!((path.decode(DotFiles::None, &mut again), &again), (Ok(named), &file));
});
