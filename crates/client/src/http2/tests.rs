//! Conversations with a server that is written down frame by frame.

mod users;

use httlib_hpack::{Decoder, Encoder};
use proptest::prelude::*;

use super::frame::{self, HEAD, Head};
use super::settings::{WINDOW_DEFAULT, WINDOW_MAX};
use crate::exchange::{Draw, Fault, Progress, Reply, Tag, Verdict};
use crate::outgoing::Outgoing;
use crate::protocol::{ClientConn, ClientOptions, HttpVersion};
use crate::request::RequestSpec;
use crate::url::Url;

fn spec(method: &str, path: &str, body: &[u8]) -> RequestSpec {
    RequestSpec { method: method.into(), path: path.into(), body: body.to_vec(), ..RequestSpec::default() }
}

fn options(requests: Vec<RequestSpec>) -> ClientOptions {
    ClientOptions { requests, in_turn: true, http: HttpVersion::Http2, ..ClientOptions::default() }
}

fn connect(options: &ClientOptions) -> Box<dyn ClientConn> {
    let url = Url::parse("http://h:81/").unwrap();
    super::build(&url, options).unwrap().connect()
}

/// Frames of a server.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    [&frame::head(payload.len(), kind, flags, stream)[..], payload].concat()
}

fn settings(entries: &[(u16, u32)]) -> Vec<u8> {
    let payload: Vec<u8> = entries
        .iter()
        .flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat())
        .collect();
    frame(frame::SETTINGS, 0, 0, &payload)
}

fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let (mut encoder, mut out) = (Encoder::default(), Vec::new());
    for (name, value) in fields {
        encoder
            .encode((name.as_bytes().to_vec(), value.as_bytes().to_vec(), Encoder::BEST_FORMAT), &mut out)
            .unwrap();
    }
    out
}

fn head(stream: u32, fields: &[(&str, &str)], end: bool) -> Vec<u8> {
    let end = if end { frame::END_STREAM } else { 0 };
    frame(frame::HEADERS, frame::END_HEADERS | end, stream, &block(fields))
}

fn data(stream: u32, body: &[u8], end: bool) -> Vec<u8> {
    frame(frame::DATA, if end { frame::END_STREAM } else { 0 }, stream, body)
}

fn goaway(last: u32, code: u32) -> Vec<u8> {
    frame(frame::GOAWAY, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}

fn right(nth: u16) -> Progress {
    Progress::ReplyTo(nth, Reply { verdict: Verdict::Right, status: 200, persists: true, content: 0 })
}

/// A connection that a test talks to.
struct Talk {
    conn: Box<dyn ClientConn>,
    out: Outgoing,
    tail: Vec<u8>,
    index: u64,
    /// Of the server, for tests that read requests.
    decoder: Decoder<'static>,
}

impl Talk {
    /// With the server's SETTINGS behind it.
    fn new(options: &ClientOptions) -> Talk {
        Talk::with(options, &[])
    }

    fn with(options: &ClientOptions, entries: &[(u16, u32)]) -> Talk {
        let mut talk = Talk {
            conn: connect(options),
            out: Outgoing::new(),
            tail: Vec::new(),
            index: 0,
            decoder: Decoder::default(),
        };
        talk.conn.open(&mut talk.out);
        let seen = talk.take(&settings(entries));
        assert_eq!(seen.unwrap().last(), Some(&Progress::Ready));
        talk.sent();
        talk
    }

    fn ask(&mut self, requests: u32) {
        for _ in 0..requests {
            self.conn.request(Draw { random: 0, index: self.index }, &mut self.out);
            self.index += 1;
        }
    }

    /// All that the input means, but for how much content replies have.
    fn take(&mut self, input: &[u8]) -> Result<Vec<Progress>, Fault> {
        let without = |progress| match progress {
            Progress::ReplyTo(nth, reply) => Progress::ReplyTo(nth, Reply { content: 0, ..reply }),
            other => other,
        };
        self.take_whole(input).map(|seen| seen.into_iter().map(without).collect())
    }

    fn take_whole(&mut self, input: &[u8]) -> Result<Vec<Progress>, Fault> {
        self.tail.extend_from_slice(input);
        let mut seen = Vec::new();
        loop {
            let received = self.conn.receive(Some(Tag(0)), &self.tail, &mut self.out)?;
            self.tail.drain(..received.consumed);
            match received.progress {
                Progress::More => return Ok(seen),
                progress => seen.push(progress),
            }
        }
    }

    /// The frames that were sent since the last call, with their payloads.
    fn sent(&mut self) -> Vec<(Head, Vec<u8>)> {
        let all = self.out.payload().as_slice().to_vec();
        self.out.clear();
        let mut rest = all.strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap_or(&all);
        let mut frames = Vec::new();
        while let Some(head) = Head::read(rest) {
            frames.push((head, rest[HEAD..HEAD + head.length].to_vec()));
            rest = &rest[HEAD + head.length..];
        }
        assert!(rest.is_empty());
        frames
    }
}

/// What becomes of so many requests when the input comes whole, and in two pieces cut anywhere.
fn outcome(options: &ClientOptions, requests: u32, input: &[u8]) -> Result<Vec<Progress>, Fault> {
    let run = |pieces: &[&[u8]]| -> Result<Vec<Progress>, Fault> {
        let mut talk = Talk::new(options);
        talk.ask(requests);
        let mut seen = Vec::new();
        for piece in pieces {
            seen.extend(talk.take(piece)?);
        }
        // When a reply begins depends on what arrives together.
        seen.retain(|progress| !matches!(progress, Progress::Began(_)));
        Ok(seen)
    };
    let whole = run(&[input]);
    for cut in 0..input.len() {
        assert_eq!(run(&[&input[..cut], &input[cut..]]), whole, "cut at {cut}");
    }
    whole
}

#[test]
fn the_first_request_fills_the_table_and_later_ones_use_it() {
    let mut o = options(vec![spec("GET", "/a?b", b""), spec("POST", "/x", b"hi")]);
    o.headers = vec![("X-Name".into(), "value".into())];
    let mut talk = Talk::new(&o);
    talk.ask(4);
    let mut decoder = Decoder::default();
    let mut lengths = Vec::new();
    for (n, (head, payload)) in
        talk.sent().into_iter().filter(|(head, _)| head.kind == frame::HEADERS).enumerate()
    {
        assert_eq!(head.stream, 2 * n as u32 + 1);
        assert_eq!(head.has(frame::END_STREAM), n % 2 == 0);
        lengths.push(payload.len());
        let (mut payload, mut fields) = (payload, Vec::new());
        decoder.decode(&mut payload, &mut fields).unwrap();
        let fields: Vec<String> = fields
            .iter()
            .map(|(name, value, _)| [&**name, b"=", &**value].concat())
            .map(|text| String::from_utf8(text).unwrap())
            .collect();
        let (get, post) = (
            &[":method=GET", ":scheme=http", ":path=/a?b", ":authority=h:81", "x-name=value"][..],
            &[
                ":method=POST",
                ":scheme=http",
                ":path=/x",
                ":authority=h:81",
                "x-name=value",
                "content-length=2",
            ][..],
        );
        assert_eq!(fields, if n % 2 == 0 { get } else { post });
    }
    assert!(lengths[2] + 8 < lengths[0], "{lengths:?}");
}

#[test]
fn a_request_may_have_headers_of_its_own_even_the_host() {
    let mut o = options(vec![spec("GET", "/", b""), spec("GET", "/", b"")]);
    o.headers = vec![("X-All".into(), "v".into())];
    o.requests[0].headers = vec![("Host".into(), "other".into()), ("X-One".into(), "w".into())];
    let mut talk = Talk::new(&o);
    talk.ask(2);
    let mut decoder = Decoder::default();
    let mut names = |block: &[u8]| {
        let (mut block, mut fields) = (block.to_vec(), Vec::new());
        decoder.decode(&mut block, &mut fields).unwrap();
        fields.into_iter().skip(3).map(|(_, value, _)| String::from_utf8(value).unwrap()).collect::<Vec<_>>()
    };
    let sent = talk.sent();
    assert_eq!(names(&sent[0].1), ["other", "v", "w"]);
    assert_eq!(names(&sent[1].1), ["h:81", "v"]);
}

#[test]
fn a_server_without_a_table_is_sent_none() {
    let mut talk = Talk::with(&options(vec![spec("GET", "/", b"")]), &[(1, 0)]);
    talk.ask(2);
    let sent = talk.sent();
    assert_eq!(sent[0].1[0], 0x20);
    assert_eq!(sent[0].1[1..], sent[1].1[..]);
    assert!(!super::shape::of(&sent[1].1).unwrap().adds);
}

#[test]
fn replies_of_every_kind_are_told_apart_wherever_they_are_cut() {
    let status = (":status", "200");
    let input = [
        head(1, &[(":status", "103")], false),
        head(1, &[status, ("content-length", "3")], false),
        data(1, b"ab", false),
        frame(frame::PING, 0, 0, b"12345678"),
        // Padded, and behind it trailers.
        frame(frame::DATA, frame::PADDED, 1, b"\x02c\0\0"),
        head(1, &[("x-sum", "1")], true),
        // Without a body.
        head(5, &[(":status", "204")], true),
        head(3, &[status], false),
        data(3, b"abc", true),
        // Out of order, in two frames of headers with padding and priority.
        {
            let block = block(&[status, ("content-length", "0")]);
            let padded = [&[1][..], &[0; 5], &block[..1], &[0]].concat();
            let flags = frame::PADDED | frame::WITH_PRIORITY | frame::END_STREAM;
            [
                frame(frame::HEADERS, flags, 9, &padded),
                frame(frame::CONTINUATION, 0, 9, &block[1..2]),
                frame(frame::CONTINUATION, frame::END_HEADERS, 9, &block[2..]),
            ]
            .concat()
        },
        head(7, &[status, ("content-length", "3")], false),
        frame(0xfa, 0xff, 7, b"an extension"),
        data(7, b"abc", false),
        data(7, b"", true),
    ]
    .concat();
    // The requests with the numbers 1 to 5 of which each is named by its place among those that are left.
    let no_content = Reply { verdict: Verdict::Right, status: 204, persists: true, content: 0 };
    let wanted = vec![right(0), Progress::ReplyTo(1, no_content), right(0), right(1), right(0)];
    assert_eq!(outcome(&options(vec![spec("GET", "/", b"")]), 5, &input), Ok(wanted));
}

#[test]
fn a_reply_is_judged_as_that_of_the_other_version() {
    let reply = |status: &str, length: &str, body: &[u8]| {
        [head(1, &[(":status", status), ("content-length", length)], false), data(1, body, true)].concat()
    };
    let mut o = options(vec![spec("GET", "/", b"")]);
    let verdict = |o: &ClientOptions, input: &[u8]| match outcome(o, 1, input).as_deref() {
        Ok([Progress::ReplyTo(0, reply)]) => reply.verdict,
        other => panic!("{other:?}"),
    };
    assert_eq!(verdict(&o, &reply("404", "2", b"no")), Verdict::Status(404));
    assert_eq!(verdict(&o, &reply("200", "3", b"no")), Verdict::Length);
    o.expect_body = Some(b"abc".to_vec());
    assert_eq!(verdict(&o, &reply("200", "3", b"abc")), Verdict::Right);
    assert_eq!(verdict(&o, &reply("200", "3", b"abx")), Verdict::Bytes);
    assert_eq!(verdict(&o, &reply("200", "4", b"abcd")), Verdict::Length);
    let head_only = options(vec![spec("HEAD", "/", b"")]);
    assert_eq!(
        verdict(&head_only, &head(1, &[(":status", "200"), ("content-length", "9")], true)),
        Verdict::Right
    );
    assert_eq!(
        verdict(
            &options(vec![spec("GET", "/", b"")]),
            &head(1, &[(":status", "304"), ("content-length", "9")], true)
        ),
        Verdict::Right
    );
}

#[test]
fn a_reply_that_is_not_all_there_has_begun() {
    let mut talk = Talk::new(&options(vec![spec("GET", "/", b"")]));
    talk.ask(2);
    let seen = talk.take(&[head(3, &[(":status", "200")], false), data(3, b"a", false)].concat());
    assert_eq!(seen, Ok(vec![Progress::Began(1)]));
    assert_eq!(talk.take(&data(3, b"b", true)), Ok(vec![right(1)]));
    let together = [head(1, &[(":status", "200")], false), data(1, b"a", true)].concat();
    assert_eq!(talk.take(&together), Ok(vec![right(0)]));
}

#[test]
fn what_breaks_the_protocol_is_a_fault_and_the_server_is_told() {
    let ok = (":status", "200");
    let cases: Vec<(&str, Vec<u8>, Fault)> = vec![
        ("data before headers", data(1, b"x", true), Fault::Malformed),
        ("data on no stream", data(0, b"x", true), Fault::Malformed),
        ("a stream that is not open yet", head(9, &[ok], true), Fault::Malformed),
        ("a stream of the server's", head(2, &[ok], true), Fault::Malformed),
        ("no status", head(1, &[("a", "b")], true), Fault::Malformed),
        ("switching protocols", head(1, &[(":status", "101")], false), Fault::Malformed),
        ("an interim reply that ends", head(1, &[(":status", "100")], true), Fault::Malformed),
        ("two heads", [head(1, &[ok], false), head(1, &[ok], true)].concat(), Fault::Malformed),
        ("more after the end", [head(1, &[ok], true), data(1, b"x", true)].concat(), Fault::Unasked),
        ("a push", frame(frame::PUSH_PROMISE, frame::END_HEADERS, 1, &[0, 0, 0, 2, 0x82]), Fault::Malformed),
        ("a longer frame than allowed", frame::head(16_385, frame::DATA, 0, 1).to_vec(), Fault::TooLarge),
        ("a ping of another length", frame(frame::PING, 0, 0, b"1234"), Fault::Malformed),
        ("settings of no whole entries", frame(frame::SETTINGS, 0, 0, &[0; 5]), Fault::Malformed),
        ("settings that push", settings(&[(2, 1)]), Fault::Malformed),
        ("a window that is too large", settings(&[(4, WINDOW_MAX + 1)]), Fault::Malformed),
        ("a frame that is too large", settings(&[(5, 1 << 24)]), Fault::Malformed),
        ("no increment", frame(frame::WINDOW_UPDATE, 0, 0, &[0; 4]), Fault::Malformed),
        (
            "a window that overflows",
            frame(frame::WINDOW_UPDATE, 0, 0, &WINDOW_MAX.to_be_bytes()),
            Fault::Malformed,
        ),
        (
            "padding that is longer than its frame",
            frame(frame::DATA, frame::PADDED, 1, b"\x05a"),
            Fault::Malformed,
        ),
        ("continuation of nothing", frame(frame::CONTINUATION, 4, 1, b"\x88"), Fault::Malformed),
        (
            "a frame within a block",
            [frame(frame::HEADERS, 0, 1, b"\x88"), frame(frame::PING, 0, 0, &[0; 8])].concat(),
            Fault::Malformed,
        ),
        (
            "continuations without end",
            [frame(frame::HEADERS, 0, 1, b"\x88"), frame(frame::CONTINUATION, 0, 1, b"").repeat(100)]
                .concat(),
            Fault::TooLarge,
        ),
        (
            "a block without end",
            [
                frame(frame::HEADERS, 0, 1, b"\x88"),
                frame(frame::CONTINUATION, 0, 1, &[0x88; 16_000]).repeat(5),
            ]
            .concat(),
            Fault::TooLarge,
        ),
        ("a table that is not there", frame(frame::HEADERS, 5, 1, &[0xff, 0xff, 0x7f]), Fault::Malformed),
        ("an end of the connection for cause", goaway(1, 11), Fault::Named("goaway-enhance-your-calm")),
    ];
    for (what, input, fault) in cases {
        let mut talk = Talk::new(&options(vec![spec("GET", "/", b"")]));
        talk.ask(1);
        talk.sent();
        assert_eq!(talk.take(&input), Err(fault), "{what}");
        assert_eq!(talk.sent().last().unwrap().0.kind, frame::GOAWAY, "{what}");
    }
}

#[test]
fn a_server_of_another_version_is_told() {
    let mut conn = connect(&options(vec![spec("GET", "/", b"")]));
    let mut out = Outgoing::new();
    conn.open(&mut out);
    let reply = b"HTTP/1.1 400 Bad Request\r\n\r\n";
    assert_eq!(conn.receive(None, reply, &mut out), Err(Fault::Named("http-1-server")));
    conn.open(&mut out);
    assert_eq!(conn.receive(None, &data(1, b"", true), &mut out), Err(Fault::Malformed));
}

#[test]
fn pings_and_settings_are_answered() {
    let mut talk = Talk::new(&options(vec![spec("GET", "/", b"")]));
    talk.take(
        &[frame(frame::PING, 0, 0, b"12345678"), settings(&[]), frame(frame::SETTINGS, 1, 0, b"")].concat(),
    )
    .unwrap();
    let sent = talk.sent();
    assert_eq!(sent.len(), 2);
    assert_eq!((sent[0].0.kind, sent[0].0.flags, &*sent[0].1), (frame::PING, frame::ACK, &b"12345678"[..]));
    assert_eq!((sent[1].0.kind, sent[1].0.flags), (frame::SETTINGS, frame::ACK));
}

#[test]
fn the_number_of_streams_that_the_server_allows_is_said_first() {
    let mut conn = connect(&options(vec![spec("GET", "/", b"")]));
    let mut out = Outgoing::new();
    conn.open(&mut out);
    let input = settings(&[(3, 7)]);
    let received = conn.receive(None, &input, &mut out).unwrap();
    assert_eq!((received.consumed, received.progress), (input.len(), Progress::Limit(7)));
    assert_eq!(conn.receive(None, &[], &mut out).unwrap().progress, Progress::Ready);
    assert_eq!(conn.counts(), [("max-concurrent-streams", 7)]);
}

#[test]
fn a_reset_ends_one_request_and_is_counted_by_its_code() {
    let mut talk = Talk::new(&options(vec![spec("GET", "/", b"")]));
    talk.ask(3);
    let reset = |stream, code: u32| frame(frame::RST_STREAM, 0, stream, &code.to_be_bytes());
    assert_eq!(talk.take(&reset(3, 7)), Ok(vec![Progress::Failed(1, "reset-refused-stream")]));
    assert_eq!(talk.take(&reset(3, 7)), Ok(vec![]));
    assert_eq!(talk.take(&reset(1, 99)), Ok(vec![Progress::Failed(0, "reset-unknown-code")]));
    assert_eq!(talk.take(&head(5, &[(":status", "200")], true)), Ok(vec![right(0)]));
    assert_eq!(talk.conn.counts(), [("reset-refused-stream", 1), ("reset-unknown-code", 1)]);
}

#[test]
fn an_end_in_order_gives_back_what_the_server_has_not_looked_at() {
    let mut talk = Talk::new(&options(vec![spec("GET", "/", b"")]));
    talk.ask(4);
    assert_eq!(talk.take(&goaway(WINDOW_MAX, 0)), Ok(vec![Progress::Retiring(0)]));
    assert_eq!(talk.take(&goaway(3, 0)), Ok(vec![Progress::Retiring(2)]));
    assert_eq!(talk.take(&head(3, &[(":status", "200")], true)), Ok(vec![right(1)]));
    assert_eq!(talk.take(&head(1, &[(":status", "200")], true)), Ok(vec![right(0)]));
    assert_eq!(talk.conn.counts(), [("given-back", 2), ("goaway-no-error", 2)]);
    // The next connection begins again.
    talk.out.clear();
    talk.conn.open(&mut talk.out);
    talk.sent();
    talk.take(&settings(&[])).unwrap();
    talk.conn.repeat(Tag(0), &mut talk.out);
    assert_eq!(talk.sent().last().unwrap().0.stream, 1);
}

#[test]
fn a_body_waits_for_the_windows_and_the_wait_is_measured() {
    let body: Vec<u8> = (0..100_000u32).map(|n| n as u8).collect();
    let mut talk = Talk::with(&options(vec![spec("POST", "/", &body)]), &[(4, 70_000)]);
    talk.conn.clock(1000);
    talk.ask(1);
    let mut sent = Vec::new();
    let mut collect = |talk: &mut Talk| {
        for (head, payload) in talk.sent() {
            if head.kind == frame::DATA {
                assert!(head.length <= 16_384);
                sent.extend_from_slice(&payload);
                assert_eq!(head.has(frame::END_STREAM), sent.len() == body.len());
            }
        }
        sent.len()
    };
    // The window of the connection is smaller than that of the stream.
    assert_eq!(collect(&mut talk), WINDOW_DEFAULT as usize);
    let more = |stream, n: u32| frame(frame::WINDOW_UPDATE, 0, stream, &n.to_be_bytes());
    talk.take(&more(0, 100_000)).unwrap();
    assert_eq!(collect(&mut talk), 70_000);
    // Less for each stream, which makes its window negative.
    talk.take(&settings(&[(4, 60_000)])).unwrap();
    talk.take(&more(1, 10_000)).unwrap();
    assert_eq!(collect(&mut talk), 70_000);
    talk.conn.clock(6000);
    talk.take(&more(1, 30_000)).unwrap();
    assert_eq!(collect(&mut talk), 100_000);
    assert_eq!(sent, body);
    assert_eq!(talk.conn.counts(), [("window-stalls", 1), ("window-stalled-ns", 5000)]);
}

#[test]
fn a_reply_before_the_end_of_the_body_ends_the_request() {
    let mut talk = Talk::new(&options(vec![spec("POST", "/", &[0; 100_000])]));
    talk.ask(1);
    talk.sent();
    assert_eq!(
        talk.take(&head(1, &[(":status", "413")], true)),
        Ok(vec![Progress::ReplyTo(
            0,
            Reply { verdict: Verdict::Status(413), status: 413, persists: true, content: 0 }
        )])
    );
    let sent = talk.sent();
    assert_eq!((sent[0].0.kind, &*sent[0].1), (frame::RST_STREAM, &8u32.to_be_bytes()[..]));
    assert_eq!(talk.take(&frame(frame::WINDOW_UPDATE, 0, 1, &[0, 0, 0, 1])), Ok(vec![]));
}

#[test]
fn a_request_that_is_given_up_leaves_the_others_and_what_still_comes_of_it_is_skipped() {
    let mut talk = Talk::new(&options(vec![spec("GET", "/", b"")]));
    talk.ask(3);
    talk.take(&[head(3, &[(":status", "200")], false), data(3, b"12", false)].concat()).unwrap();
    talk.take(&data(3, &[7; 9], false)[..12]).unwrap();
    talk.sent();
    talk.conn.clock(5000);
    assert!(talk.conn.cancel(1, 1000, &mut talk.out) && talk.conn.cancel(0, 1000, &mut talk.out));
    let sent: Vec<(u8, u32)> = talk.sent().iter().map(|(head, _)| (head.kind, head.stream)).collect();
    assert_eq!(sent, [(frame::RST_STREAM, 3), (frame::PING, 0), (frame::RST_STREAM, 1)]);
    // The rest of the frame, another one, and a head whose fields go into the table.
    let late =
        [&[7; 6][..], &data(3, b"34", true), &head(1, &[(":status", "200"), ("x-a", "b")], true)].concat();
    assert_eq!(talk.take(&late), Ok(vec![]));
    let right_of_third = talk.take(&head(5, &[(":status", "200")], true));
    assert_eq!(right_of_third, Ok(vec![right(0)]));
    assert_eq!(talk.take(&data(5, b"", true)), Err(Fault::Unasked), "that one was not given up");
}

#[test]
fn a_server_that_says_nothing_after_a_request_was_given_up_is_given_up_too() {
    let mut talk = Talk::new(&options(vec![spec("GET", "/", b"")]));
    talk.ask(4);
    let cancel = |talk: &mut Talk, at: u64| {
        talk.conn.clock(at);
        talk.conn.cancel(0, 1000, &mut talk.out)
    };
    assert!(cancel(&mut talk, 5000) && cancel(&mut talk, 5999));
    talk.take(&frame(frame::PING, frame::ACK, 0, &[0; 8])).unwrap();
    assert!(cancel(&mut talk, 6000), "it has answered");
    assert!(!cancel(&mut talk, 7000), "it has not");
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic_and_cuts_change_nothing(
        frames in prop::collection::vec(
            (0u8..11, any::<u8>(), 0u32..6, prop::collection::vec(any::<u8>(), 0..40)), 0..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let input: Vec<u8> =
            frames.iter().flat_map(|(kind, flags, stream, payload)| frame(*kind, *flags, *stream, payload)).collect();
        let run = |pieces: &[&[u8]]| {
            let mut talk = Talk::new(&options(vec![spec("GET", "/", b"")]));
            talk.ask(3);
            let mut seen = Vec::new();
            for piece in pieces {
                match talk.take(piece) {
                    Ok(more) => seen.extend(more),
                    Err(fault) => return (seen.len(), Err(fault)),
                }
            }
            seen.retain(|progress| !matches!(progress, Progress::Began(_)));
            (0, Ok(seen))
        };
        let cut = cut.index(input.len() + 1);
        let (whole, parts) = (run(&[&input]), run(&[&input[..cut], &input[cut..]]));
        prop_assert_eq!(whole.1, parts.1);
    }
}

#[test]
fn the_content_of_a_reply_is_its_body_without_frames_and_padding() {
    let mut talk = Talk::new(&options(vec![spec("GET", "/", b"")]));
    talk.ask(2);
    let padded = frame(frame::DATA, frame::END_STREAM | frame::PADDED, 1, b"\x04lo....");
    let status = (":status", "200");
    let input =
        [head(1, &[status], false), data(1, b"hel", false), head(3, &[status], true), padded].concat();
    let seen = talk.take_whole(&input).unwrap();
    let content = seen.iter().filter_map(|progress| match progress {
        Progress::ReplyTo(_, reply) => Some(reply.content),
        _ => None,
    });
    assert_eq!(content.collect::<Vec<_>>(), [0, 5]);
}
