//! What holds for any input.

use pitot_proto::http::chunked::{ChunkError, Decoder};
use pitot_proto::http::options::DotFiles;
use pitot_proto::http::range::{self, Ranges};
use pitot_proto::http::target::{self, Named, PathError, RequestTarget};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::support::*;

/// Pieces that, strung together, make sound requests, broken ones, and everything between.
const PIECES: &[&str] = &[
    "GET / HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET /disk.bin HTTP/1.1\r\nHost: h\r\nRange: bytes=0-9,150-\r\n\r\n",
    "HEAD /hello.txt HTTP/1.1\r\nHost: h\r\nIf-None-Match: *\r\n\r\n",
    "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello",
    "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
    "3\r\nabc\r\n",
    "10;ext\r\n0123456789abcdef\r\n",
    "0\r\n\r\n",
    "0\r\nTrailer: x\r\n\r\n",
    "GET /dir?a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    "GET /../x HTTP/1.1\r\nHost: h\r\n\r\n",
    "BREW /x HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET /bytes/70 HTTP/1.1\r\nHost: h\r\n",
    "GET ",
    "/hello.txt",
    " HTTP/1.1\r\n",
    " HTTP/2.0\r\n",
    "Host: h\r\n",
    "Host : h\r\n",
    "Content-Length: 2\r\n",
    "Content-Length: +2\r\n",
    "Transfer-Encoding: chunked\r\n",
    " folded\r\n",
    "X: y\n",
    "X: \0\r\n",
    "\r\n",
    "\n",
    "\r",
    "\0",
    "\u{e4}",
    "ab",
];

fn input() -> impl Strategy<Value = Vec<u8>> {
    vec(select(PIECES), 1..8).prop_map(|pieces| pieces.concat().into_bytes())
}

fn cut<'a>(input: &'a [u8], at: &[Index]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = at.iter().map(|i| i.index(input.len() + 1)).collect();
    cuts.extend([0, input.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|w| &input[w[0]..w[1]]).collect()
}

fn decode(path: &[u8], file: &mut Vec<u8>) -> Result<Named, PathError> {
    match target::parse(path) {
        Ok(RequestTarget::Resource { path, .. }) => path.decode(DotFiles::None, file),
        _ => Err(PathError::Hidden),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_answer_does_not_depend_on_how_the_input_is_cut(input in input(), cuts in vec(any::<Index>(), 0..6)) {
        let whole = exchange([input.as_slice()]);
        prop_assert_eq!(&exchange(input.chunks(1)), &whole, "byte by byte");
        prop_assert_eq!(&exchange(cut(&input, &cuts)), &whole, "cut at {:?}", cuts);
    }

    #[test]
    fn what_is_sent_is_a_row_of_sound_replies(input in input()) {
        // The reader cannot know which replies answer a HEAD.
        prop_assume!(!input.windows(4).any(|w| w == b"HEAD"));
        let outcome = exchange([input.as_slice()]);
        let replies = replies(&outcome.sent, &[]);
        prop_assert_eq!(replies.len() as u64, outcome.replies);
        let closing = replies.iter().position(|r| r.field("connection") == Some("close"));
        prop_assert_eq!(closing.map(|at| at + 1), outcome.end.map(|_| replies.len()));
    }

    #[test]
    fn bytes_that_are_not_http_get_one_refusal_at_most(input in vec(any::<u8>(), 0..200)) {
        let outcome = exchange([input.as_slice()]);
        prop_assert!(outcome.replies <= 1);
        prop_assert_eq!(&exchange(input.chunks(1)), &outcome);
    }

    #[test]
    fn resolved_ranges_are_disjoint_and_inside(
        specs in vec((proptest::option::of(0u64..3000), proptest::option::of(0u64..3000)), 1..12),
        size in 0u64..2500,
    ) {
        let show = |n: &Option<u64>| n.map(|n| n.to_string()).unwrap_or_default();
        let set: Vec<String> = specs.iter().map(|(a, b)| format!("{}-{}", show(a), show(b))).collect();
        let resolved = range::resolve(format!("bytes={}", set.join(", ")).as_bytes(), size);
        let malformed = specs.iter().any(|(a, b)| match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => a > b,
            _ => false,
        });
        let asked = |at: u64| specs.iter().any(|&(a, b)| match (a, b) {
            (Some(a), b) => a <= at && at <= b.unwrap_or(u64::MAX),
            (None, Some(n)) => at >= size.saturating_sub(n),
            (None, None) => false,
        });
        let any_asked = (0..size).any(asked);
        match resolved {
            Ranges::Whole => prop_assert!(malformed || size == 0),
            Ranges::Unsatisfiable => prop_assert!(!malformed && !any_asked),
            Ranges::Parts(parts) => {
                prop_assert!(!malformed);
                for (i, part) in parts.iter().enumerate() {
                    prop_assert!(part.start < part.end && part.end <= size);
                    prop_assert!(asked(part.start) && asked(part.end - 1));
                    let apart = |p: &std::ops::Range<u64>| p.end + 96 <= part.start || part.end + 96 <= p.start;
                    prop_assert!(parts[..i].iter().all(apart), "{:?}", parts);
                }
                for at in (0..size).filter(|&at| asked(at)) {
                    prop_assert!(parts.iter().any(|p| p.contains(&at)), "byte {} is missing", at);
                }
            }
        }
    }

    #[test]
    fn any_range_value_resolves(value in "(bytes)?=?[-0-9, a]{0,40}", size in any::<u64>()) {
        if let Ranges::Parts(parts) = range::resolve(value.as_bytes(), size) {
            prop_assert!(parts.iter().all(|p| p.start < p.end && p.end <= size));
            prop_assert!(parts.iter().map(|p| p.end - p.start).sum::<u64>() <= size);
        }
    }

    #[test]
    fn no_path_escapes(path in r"(/|\.|\.\.|%2e|%2F|%5c|\\|%00|%|a|\.b|c%20d){0,12}") {
        let mut file = Vec::new();
        if decode(format!("/{path}").as_bytes(), &mut file).is_ok() {
            let sound = file.strip_suffix(b"/").unwrap_or(&file);
            prop_assert!(sound.is_empty() || sound.split(|&b| b == b'/').all(|c| !c.is_empty() && c[0] != b'.'));
            prop_assert!(!file.contains(&0) && !file.contains(&b'\\'));
        }
    }

    #[test]
    fn what_is_encoded_decodes_to_itself(components in vec("[^/\\\\\0.][^/\\\\\0]{0,6}", 1..4)) {
        let path = components.join("/");
        let (mut encoded, mut decoded) = (Vec::new(), Vec::new());
        target::encode(path.as_bytes(), &mut encoded);
        prop_assert!(encoded.iter().all(|b| matches!(b, 0x21..=0x7e)) && !encoded.starts_with(b"//"));
        prop_assert_eq!(decode(&encoded, &mut decoded), Ok(Named::File));
        prop_assert_eq!(decoded, path.as_bytes());
    }

    #[test]
    fn chunks_decode_as_in_a_plain_reference(
        chunks in vec((vec(any::<u8>(), 1..40), "(;[a-z=\"]{0,9})?", any::<bool>()), 0..6),
        trailers in vec("[A-Za-z-]{1,8}:[ -~]{0,8}", 0..3),
        rest in "[ -~]{0,9}",
        cuts in vec(any::<Index>(), 0..6),
    ) {
        let mut body = Vec::new();
        for (data, extension, upper) in &chunks {
            let size = if *upper { format!("{:X}", data.len()) } else { format!("00{:x}", data.len()) };
            body.extend_from_slice(format!("{size}{extension}\r\n").as_bytes());
            body.extend_from_slice(data);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(b"0\r\n");
        trailers.iter().for_each(|trailer| body.extend_from_slice(format!("{trailer}\r\n").as_bytes()));
        body.extend_from_slice(b"\r\n");
        let len = body.len();
        body.extend_from_slice(rest.as_bytes());

        let (mut decoder, mut data, mut consumed) = (Decoder::default(), Vec::new(), 0);
        for piece in cut(&body, &cuts) {
            consumed += decoder
                .decode(piece, |bytes| {
                    data.extend_from_slice(bytes);
                    Ok::<(), ChunkError>(())
                })
                .unwrap();
        }
        prop_assert!(decoder.is_done());
        prop_assert_eq!(consumed, len);
        prop_assert_eq!(data, chunks.into_iter().flat_map(|(data, ..)| data).collect::<Vec<u8>>());
    }
}

#[test]
fn a_long_conversation_is_the_same_cut_at_any_byte() {
    let input = "GET /hello.txt HTTP/1.1\r\nHost: h\r\n\r\n\
                 GET /dir?x HTTP/1.1\r\nHost: h\r\n\r\n\
                 GET /disk.bin HTTP/1.1\r\nHost: h\r\nRange: bytes=0-4,150-155\r\n\r\n\
                 POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\
                 3;x\r\nabc\r\n4\r\ndefg\r\n0\r\nT: x\r\n\r\n\
                 OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n\
                 GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 5, 5\r\n\r\n";
    let whole = exchange([input.as_bytes()]);
    assert_eq!(replies(&whole.sent, &[]).len(), 6);
    for at in 0..=input.len() {
        let (before, after) = input.as_bytes().split_at(at);
        assert_eq!(exchange([before, after]), whole, "cut at {at}");
    }
}

#[test]
fn a_head_at_its_limits_is_the_same_cut_at_any_place() {
    let pad = |n: usize| "x".repeat(n);
    for input in [
        format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", pad(8192 - 16)),
        format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", pad(8192 - 15)),
        format!("GET / HTTP/1.1\r\nHost: h\r\nA: {}\r\n\r\n", pad(16_384 - 32)),
        format!("GET / HTTP/1.1\r\nHost: h\r\nA: {}\r\n\r\n", pad(16_384 - 31)),
        format!("GET / HTTP/1.1\r\nHost: h\r\nA: {}\0\r\n\r\n", pad(16_384 - 33)),
        format!("GET / HTTP/1.1\r\nHost: h\r\nA: {}\r\nB b\r\n\r\n", pad(16_384 - 33)),
    ] {
        let whole = exchange([input.as_bytes()]);
        assert_eq!(whole.replies, 1);
        for piece_len in [1, 2, 7, 1000, 8191, 8192, 8193, 16_383, 16_384] {
            assert_eq!(exchange(input.as_bytes().chunks(piece_len)), whole, "by {piece_len}");
        }
    }
}
