use proptest::prelude::*;

use super::carry::TOKEN_MAX;
use super::*;

/// What a document refers to, fed in pieces of that length.
fn in_pieces(text: &[u8], piece: usize, is_css: bool) -> Vec<(Kind, String)> {
    let (mut html, mut css) = (Html::default(), Css::default());
    let mut all = Vec::new();
    let mut found =
        |find: Find<'_>| all.push((find.kind, String::from_utf8_lossy(&find.address).into_owned()));
    for piece in text.chunks(piece.max(1)) {
        if is_css { css.feed(piece, &mut found) } else { html.feed(piece, &mut found) }
    }
    all
}

/// The same, however the document is split.
fn found(text: &str, is_css: bool) -> Vec<(Kind, String)> {
    let whole = in_pieces(text.as_bytes(), text.len(), is_css);
    for piece in 1..text.len() {
        assert_eq!(in_pieces(text.as_bytes(), piece, is_css), whole, "in pieces of {piece}");
    }
    whole
}

fn html(text: &str) -> Vec<(Kind, String)> {
    found(text, false)
}

fn addresses(found: &[(Kind, String)]) -> Vec<&str> {
    found.iter().map(|(_, address)| &**address).collect()
}

#[test]
fn what_a_browser_gets_with_a_page_is_found() {
    let page = r#"<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.0//EN"><HTML><head><title><img src=no></title>
        <link rel="stylesheet" href="a.css"><link href=print.css media=print rel='Stylesheet'/>
        <link rel="alternate stylesheet" href="no.css"><link rel="canonical" href="no"><LINK REL="shortcut icon" HREF=i.ico>
        <script src="s.js" defer></script><script>if (a<b) x = '<img src="no">';</script>
        <script nomodule src=no.js></script>
        <style>body { background: url("bg.png") }</style>
        <!-- <img src="no"> --><!--><img src=after-empty-comment.png>
        </head><body background=wall.gif><a href="no" title="a > b"><img alt='' src = 'i.png?a=1&amp;b=2'></a>
        <img/src=slash.png><picture><source srcset=no src=pic.webp></picture><IFRAME src="f.html"><img src=no></IFRAME>
        <video poster=p.jpg src=v.mp4></video><audio src=a.ogg></audio><embed src=e><object data=o></object>
        <input type=image src=b.gif><input type=text src=no><noscript><img src=no></noscript>
        <textarea><img src=no></textarea><div data-src=no><imgx src=no></div><img><img src></body>"#;
    let found = html(page);
    let by_kind = |kind| -> Vec<&str> {
        found.iter().filter(|(k, _)| *k == kind).map(|(_, address)| &**address).collect()
    };
    assert_eq!(by_kind(Kind::StyleSheet), ["a.css", "print.css"]);
    assert_eq!(by_kind(Kind::Frame), ["f.html"]);
    assert_eq!(
        by_kind(Kind::Object),
        [
            "i.ico",
            "s.js",
            "bg.png",
            "after-empty-comment.png",
            "wall.gif",
            "i.png?a=1&b=2",
            "slash.png",
            "pic.webp",
            "p.jpg",
            "v.mp4",
            "a.ogg",
            "e",
            "o",
            "b.gif",
            ""
        ]
    );
}

#[test]
fn the_end_of_a_script_is_its_own_end_tag() {
    let page = "<script>'</scripty> <img src=no>' </b></SCRIPT ><img src=yes>";
    assert_eq!(addresses(&html(page)), ["yes"]);
}

#[test]
fn character_references_in_addresses_are_resolved() {
    for (text, address) in [
        ("a&amp;b", "a&b"),
        ("a&b&", "a&b&"),
        ("&#x2f;a&#47;b", "/a/b"),
        ("a&amp;amp;b&lt;&quot;", "a&amp;b<\""),
        ("&#xe9;&#0;&#99999999;&#x110000;&#;", "\u{e9}\0&#99999999;&#x110000;&#;"),
    ] {
        assert_eq!(addresses(&html(&format!("<img src='{text}'>"))), [address]);
    }
}

#[test]
fn a_tag_that_is_too_long_is_skipped_and_what_follows_is_found() {
    let long = "x".repeat(TOKEN_MAX * 2);
    for (text, is_css) in [
        (format!("<img src='data:{long}'><img src=yes>"), false),
        (format!("<style>{long}</style><img src=yes>"), false),
        (format!("{long}: url(yes)"), true),
        (format!("a {{ b: url(data:{long}) }} c {{ d: url(yes) }}"), true),
        (format!("a {{ b: url('data:){long}') }} c {{ d: url(yes) }}"), true),
    ] {
        for piece in [1000, 1 << 14, 1 << 20] {
            assert_eq!(addresses(&in_pieces(text.as_bytes(), piece, is_css)), ["yes"], "{piece}");
        }
    }
}

#[test]
fn style_sheets() {
    let sheet = r#"@charset "utf-8"; @import "one.css"; @import url(two.css) print; @IMPORT url("three.css");
        /* url(no) "*/ a::before { content: "url(no) \" url(no)"; background: URL( 'b (1).png' ) no-repeat }
        .curl(no) { src: local("no"), url(font.woff2) format("woff2"), url(a\)b.png) ; } @media x { y { z: url() } }"#;
    let found = found(sheet, true);
    let imports: Vec<&str> =
        found.iter().filter(|(k, _)| *k == Kind::StyleSheet).map(|(_, a)| &**a).collect();
    assert_eq!(imports, ["one.css", "two.css", "three.css"]);
    let objects: Vec<&str> = found.iter().filter(|(k, _)| *k == Kind::Object).map(|(_, a)| &**a).collect();
    assert_eq!(objects, ["b (1).png", "font.woff2", "a)b.png", ""]);
}

fn resolved(base: &str, address: &str) -> (Place, String) {
    let origin = Origin::new("http", "A.example", 80, ["alias:8080"]);
    let mut at = Base::default();
    at.set(base.as_bytes());
    let mut target = b"before".to_vec();
    let place = at.resolve(&origin, address.as_bytes(), &mut target);
    (place, String::from_utf8(target[6..].to_vec()).unwrap())
}

#[test]
fn addresses_resolve_as_the_examples_of_rfc_3986_do() {
    for (address, target) in [
        ("g", "/b/c/g"),
        ("./g", "/b/c/g"),
        ("g/", "/b/c/g/"),
        ("/g", "/g"),
        ("?y", "/b/c/d;p?y"),
        ("g?y", "/b/c/g?y"),
        ("g#s", "/b/c/g"),
        ("g?y/./x#s", "/b/c/g?y/./x"),
        (";x", "/b/c/;x"),
        (".", "/b/c/"),
        ("./", "/b/c/"),
        ("..", "/b/"),
        ("../", "/b/"),
        ("../g", "/b/g"),
        ("../..", "/"),
        ("../../g", "/g"),
        ("../../../g", "/g"),
        ("/./g", "/g"),
        ("/../g", "/g"),
        ("g.", "/b/c/g."),
        ("..g", "/b/c/..g"),
        ("./g/.", "/b/c/g/"),
        ("g/../h", "/b/c/h"),
        ("g;x=1/../y", "/b/c/y"),
        // As browsers do.
        ("http://a.example/x y", "/x%20y"),
        ("http://a.example:80", "/"),
        ("HTTP://a.example?q", "/?q"),
        ("//alias:8080/z", "/z"),
        ("\\g\\h", "/g/h"),
        (" g\n/h\u{e9}\"<>\r\n", "/b/c/g/h%C3%A9%22%3C%3E"),
    ] {
        assert_eq!(resolved("/b/c/d;p?q", address), (Place::Here, target.to_owned()), "{address:?}");
    }
    for (base, target) in [("/", "/g"), ("/x", "/g"), ("/x/", "/x/g"), ("", "/g"), ("*", "/g")] {
        assert_eq!(resolved(base, "g"), (Place::Here, target.to_owned()), "{base:?}");
    }
}

#[test]
fn what_is_elsewhere_and_what_is_nowhere() {
    for address in [
        "http://b.example/",
        "//b.example/x",
        "http://a.example:81/",
        "https://a.example/",
        "http://u@a.example/",
        "http://a.example:x/",
    ] {
        assert_eq!(resolved("/", address).0, Place::Elsewhere, "{address}");
    }
    for address in
        ["", "#x", "  ", "data:image/png;base64,x", "javascript:x()", "mailto:a@b", "about:blank", "http:x"]
    {
        assert_eq!(resolved("/", address).0, Place::Nowhere, "{address}");
    }
    assert_eq!(resolved("/", &"x".repeat(10_000)).0, Place::Nowhere);
    assert_eq!(resolved("/", &"\u{e9}".repeat(4000)).0, Place::Nowhere);
}

#[test]
fn a_document_may_name_its_base() {
    let origin = Origin::new("http", "h", 8080, []);
    let mut found = Found::default();
    let mut base = Base::default();
    base.set(b"/dir/page.html");
    for (kind, address) in [
        (Kind::Object, "one"),
        (Kind::Base, "/other/"),
        (Kind::StyleSheet, "two"),
        (Kind::Base, "http://elsewhere/"),
        (Kind::Object, "three"),
        (Kind::Object, "http://h:8080/four"),
    ] {
        found.note(&origin, &mut base, kind, address.as_bytes());
    }
    let targets: Vec<(Kind, &[u8])> = found.references().map(|r| (r.kind, r.target)).collect();
    assert_eq!(
        targets,
        [(Kind::Object, &b"/dir/one"[..]), (Kind::StyleSheet, b"/other/two"), (Kind::Object, b"/four")]
    );
    assert_eq!(found.elsewhere, 1);
    found.clear();
    assert_eq!((found.references().count(), found.elsewhere), (0, 0));
}

proptest! {
    #[test]
    fn any_bytes_are_a_document_and_splits_change_nothing(
        text in prop::collection::vec(prop_oneof![
            any::<u8>().prop_map(|b| vec![b]),
            prop::sample::select(vec![
                "<img src=", "<link rel=stylesheet href=", ">", "<", "/", "\"", "'", "<!--", "-->", "<style>", "</style>",
                "<script>", "</script ", "url(", ")", "@import ", "\\", "/*", "*/", " ", "=", "\n", "&amp;", "&#x", ";",
            ]).prop_map(|s| s.as_bytes().to_vec()),
        ], 0..40).prop_map(|v| v.concat()),
        piece in 1usize..20,
        is_css: bool,
    ) {
        prop_assert_eq!(in_pieces(&text, piece, is_css), in_pieces(&text, text.len(), is_css));
    }

    #[test]
    fn what_is_to_be_got_is_always_a_path_that_a_request_may_hold(
        base in prop::collection::vec(any::<u8>(), 0..20),
        address in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'.'), Just(b'/'), Just(b'?')], 0..40),
    ) {
        let origin = Origin::new("http", "h", 80, []);
        let mut at = Base::default();
        // A base is a path that was requested.
        let mut root = b"/".to_vec();
        root.extend(base.iter().filter(|b| b.is_ascii_graphic()));
        at.set(&root);
        let mut target = Vec::new();
        if at.resolve(&origin, &address, &mut target) == Place::Here {
            prop_assert_eq!(target[0], b'/');
            prop_assert!(target.iter().all(u8::is_ascii_graphic));
        }
    }
}
