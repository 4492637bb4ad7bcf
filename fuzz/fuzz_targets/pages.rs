//! Pages and style sheets: what is found does not depend on how the input is cut, and whatever is to be got is a path that
//! a request may hold.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pitot_client::page::{Base, Css, Find, Found, Html, Kind, Origin};

/// What a document refers to: as it stands there, and as it is to be got.
fn read(pieces: &mut dyn Iterator<Item = &[u8]>, is_css: bool) -> (Vec<(Kind, Vec<u8>)>, Found) {
    let origin = Origin::new("http", "h", 80, []);
    let (mut html, mut css, mut base) = (Html::default(), Css::default(), Base::default());
    base.set(b"/a/b?c");
    let (mut all, mut found) = (Vec::new(), Found::default());
    let mut note = |find: Find<'_>| {
        all.push((find.kind, find.address.to_vec()));
        found.note(&origin, &mut base, find.kind, &find.address);
    };
    for piece in pieces {
        if is_css { css.feed(piece, &mut note) } else { html.feed(piece, &mut note) }
    }
    (all, found)
}

fuzz_target!(|data: &[u8]| {
    let Some((&[flags, size], text)) = data.split_first_chunk::<2>() else { return };
    let is_css = flags & 1 == 1;
    let (whole, found) = read(&mut std::iter::once(text), is_css);
    let (parts, _) = read(&mut text.chunks(usize::from(size) + 1), is_css);
    assert_eq!(whole, parts);
    for reference in found.references() {
        assert_eq!(reference.target[0], b'/');
        assert!(reference.target.iter().all(u8::is_ascii_graphic));
    }
});
