use proptest::prelude::*;

use super::*;
use crate::exchange::{Draw, Fault, Opening, Progress, Reply, Tag, Verdict};
use crate::outgoing::Outgoing;
use crate::protocol::{ClientConn, ClientOptions, ClientProtocol};
use crate::request::RequestSpec;
use crate::session::{SessionSpec, StepSpec, Turn};
use crate::url::Url;

const OK: &[u8] = b"R\0\0\0\x08\0\0\0\0";
const READY: &[u8] = b"Z\0\0\0\x05I";

fn protocol(url: &str, path: &str) -> Result<Box<dyn ClientProtocol>, String> {
    let request = RequestSpec { path: path.into(), ..RequestSpec::default() };
    let options = ClientOptions { requests: vec![request], ..ClientOptions::default() };
    (ENTRY.build)(&Url::parse(url).unwrap(), &options)
}

fn message(kind: u8, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write::message(&mut out, kind, |out| out.extend_from_slice(content));
    out
}

/// A row of texts; none is null.
fn row(columns: &[Option<&str>]) -> Vec<u8> {
    let mut content = (columns.len() as u16).to_be_bytes().to_vec();
    for column in columns {
        content.extend_from_slice(&column.map_or(-1, |text| text.len() as i32).to_be_bytes());
        content.extend_from_slice(column.unwrap_or_default().as_bytes());
    }
    message(b'D', &content)
}

/// The description of rows of so many columns, as far as it is looked at.
fn description(columns: u16) -> Vec<u8> {
    message(b'T', &[&columns.to_be_bytes()[..], b"name\0 and so on"].concat())
}

fn complete(tag: &str) -> Vec<u8> {
    message(b'C', format!("{tag}\0").as_bytes())
}

fn error(severity: &str, code: &str) -> Vec<u8> {
    message(b'E', format!("S{severity}\0V{severity}\0C{code}\0Mno\0\0").as_bytes())
}

/// What the connection sends in answer, and what it makes of the input.
fn talk(conn: &mut dyn ClientConn, tag: Option<Tag>, input: &[u8]) -> (Vec<u8>, Result<Progress, Fault>) {
    let mut out = Outgoing::new();
    let progress = conn.receive(tag, input, &mut out).map(|received| {
        assert!(received.progress != Progress::More || received.consumed == input.len());
        match received.progress {
            // All of a right one, to the byte; of others it is not counted.
            Progress::Reply(reply) => {
                if reply.verdict == Verdict::Right {
                    assert_eq!(reply.content, received.consumed as u64);
                }
                Progress::Reply(Reply { content: 0, ..reply })
            }
            other => other,
        }
    });
    (out.payload().as_slice().to_vec(), progress)
}

fn opened(url: &str, path: &str) -> Box<dyn ClientConn> {
    let mut conn = protocol(url, path).unwrap().connect();
    assert_eq!(conn.open(&mut Outgoing::new()), Opening::Greeting);
    conn
}

fn ready(path: &str) -> Box<dyn ClientConn> {
    let mut conn = opened("postgres://h", path);
    assert_eq!(talk(&mut *conn, None, &[OK, READY].concat()).1, Ok(Progress::Ready));
    conn
}

fn judge(path: &str, parts: &[Vec<u8>]) -> Result<Progress, Fault> {
    let mut conn = ready(path);
    let tag = conn.request(Draw { random: 1, index: 0 }, &mut Outgoing::new());
    talk(&mut *conn, Some(tag), &parts.concat()).1
}

fn answered(verdict: Verdict, persists: bool) -> Result<Progress, Fault> {
    Ok(Progress::Reply(Reply { verdict, status: 0, persists, content: 0 }))
}

#[test]
fn a_connection_says_who_it_is_and_which_database_it_wants() {
    for (url, path, wanted) in [
        ("postgres://h", "", "user\0postgres\0database\0postgres\0"),
        ("postgres://me@h", "/", "user\0me\0database\0me\0"),
        ("postgres://a%40b:p@h", "/my%20db", "user\0a@b\0database\0my db\0"),
    ] {
        let mut out = Outgoing::new();
        protocol(url, path).unwrap().connect().open(&mut out);
        let sent = out.payload().as_slice().to_vec();
        assert_eq!(sent[..8], [0, 0, 0, sent.len() as u8, 0, 3, 0, 0]);
        assert!(String::from_utf8(sent[8..].to_vec()).unwrap().starts_with(wanted), "{sent:?}");
    }
}

#[test]
fn a_password_is_given_as_the_server_asks() {
    let begin = || opened("postgres://md5_user:password@h", "");
    let mut conn = begin();
    let (sent, progress) = talk(&mut *conn, None, b"R\0\0\0\x08\0\0\0\x03");
    assert_eq!((&*sent, progress), (&b"p\0\0\0\x0dpassword\0"[..], Ok(Progress::More)));
    assert_eq!(talk(&mut *conn, None, &[OK, READY].concat()).1, Ok(Progress::Ready));

    let (sent, _) = talk(&mut *begin(), None, b"R\0\0\0\x0c\0\0\0\x05\x2a\x3d\x8f\xe0");
    assert_eq!(sent, b"p\0\0\0\x28md562af4dd09bbb41884907a838a3233294\0");

    let mut conn = begin();
    let (sent, _) =
        talk(&mut *conn, None, &message(b'R', b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"));
    let first = sent.strip_prefix(b"p\0\0\0\x36SCRAM-SHA-256\0\0\0\0\x20n,,n=,r=").expect("a first message");
    let nonce = String::from_utf8(first.to_vec()).unwrap();
    let step = message(b'R', format!("\0\0\0\x0br={nonce}server,s=c2FsdA==,i=4096").as_bytes());
    let (sent, progress) = talk(&mut *conn, None, &step);
    assert!(sent[5..].starts_with(format!("c=biws,r={nonce}server,p=").as_bytes()) && progress.is_ok());
    // A server that does not show that it knows the password, and one that leaves that out.
    let wrong = message(b'R', b"\0\0\0\x0cv=AAAA");
    assert_eq!(talk(&mut *conn, None, &wrong).1, Err(Fault::Named("scram")));
}

#[test]
fn a_server_that_skips_the_end_of_scram_is_not_believed() {
    let mut conn = opened("postgres://me:p@h", "");
    let asked = talk(&mut *conn, None, &message(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0"));
    assert_eq!(asked.1, Ok(Progress::More));
    assert_eq!(talk(&mut *conn, None, OK).1, Err(Fault::Malformed));
}

#[test]
fn what_goes_wrong_at_the_start_is_named() {
    for (url, input, fault) in [
        ("postgres://h", b"R\0\0\0\x08\0\0\0\x03".to_vec(), Fault::Named("no-password")),
        ("postgres://h", b"R\0\0\0\x08\0\0\0\x07".to_vec(), Fault::Named("login-method")),
        ("postgres://h:5", message(b'R', b"\0\0\0\x0aOTHER\0\0"), Fault::Named("login-method")),
        ("postgres://h", error("FATAL", "28P01"), Fault::Named("sqlstate-28P01")),
        ("postgres://h", READY.to_vec(), Fault::Malformed),
        ("postgres://h", b"HTTP/1.1 400 Bad Request\r\n".to_vec(), Fault::TooLarge),
        ("postgres://h", b"N".to_vec(), Fault::Malformed),
    ] {
        let mut conn = opened(url, "");
        let mut out = Outgoing::new();
        let seen = conn.receive(None, &input, &mut out);
        if input == b"N" {
            assert_eq!(seen.unwrap().progress, Progress::More);
        } else {
            assert_eq!(seen.unwrap_err(), fault, "{}", input.escape_ascii());
        }
    }
}

#[test]
fn statements_are_prepared_before_the_first_request() {
    let mut conn = opened("postgres://h", "/?protocol=prepared&query=SELECT+2");
    let (sent, progress) = talk(&mut *conn, None, &[OK, READY].concat());
    assert_eq!((&*sent, progress), (&b"P\0\0\0\x12q0\0SELECT 2\0\0\0S\0\0\0\x04"[..], Ok(Progress::More)));
    assert_eq!(talk(&mut *conn, None, &[&message(b'1', b""), READY].concat()).1, Ok(Progress::Ready));
    let tag = conn.request(Draw { random: 0, index: 0 }, &mut Outgoing::new());
    let reply = [message(b'2', b""), description(1), row(&[Some("2")]), complete("SELECT 1"), READY.to_vec()]
        .concat();
    assert_eq!(talk(&mut *conn, Some(tag), &reply).1, answered(Verdict::Right, true));
    // One that the server does not understand.
    let mut conn = opened("postgres://h", "/?protocol=prepared&query=SELCT");
    assert_eq!(talk(&mut *conn, None, &[OK, READY].concat()).1, Ok(Progress::More));
    let fault = talk(&mut *conn, None, &error("ERROR", "42601")).1;
    assert_eq!(fault, Err(Fault::Named("sqlstate-42601")));
}

#[test]
fn a_reply_is_judged_by_its_rows() {
    let (two, end) = (row(&[Some("a"), None]), READY.to_vec());
    let reply = |tag| [description(2), two.clone(), two.clone(), complete(tag), end.clone()];
    assert_eq!(judge("", &reply("SELECT 2")), answered(Verdict::Right, true));
    assert_eq!(judge("", &reply("SELECT 3")), answered(Verdict::Length, true));
    assert_eq!(judge("", &reply("INSERT 0 3")), answered(Verdict::Right, true));
    assert_eq!(judge("/?rows=2&value=a", &reply("SELECT 2")), answered(Verdict::Right, true));
    assert_eq!(judge("/?rows=1", &reply("SELECT 2")), answered(Verdict::Refused("rows"), true));
    for value in ["b", "ab", "", "null"] {
        let path = format!("/?value={value}");
        assert_eq!(judge(&path, &reply("SELECT 2")), answered(Verdict::Bytes, true), "{value}");
    }
    let null = [description(1), row(&[None]), complete("SELECT 1"), end.clone()];
    assert_eq!(judge("/?value=a", &null), answered(Verdict::Bytes, true));
    // CREATE TABLE AS says a number, and returns no rows. Several commands are one reply.
    let several =
        [vec![complete("SELECT 10")], reply("SELECT 2")[..4].to_vec(), vec![complete("BEGIN"), end.clone()]];
    assert_eq!(judge("/?rows=2", &several.concat()), answered(Verdict::Right, true));
    assert_eq!(judge("", &[message(b'I', b""), end]), answered(Verdict::Right, true));
}

#[test]
fn errors_are_counted_by_their_sqlstate_and_fatal_ones_end_the_connection() {
    let refused = Verdict::Refused("sqlstate-42P01");
    assert_eq!(judge("", &[error("ERROR", "42P01"), READY.to_vec()]), answered(refused, true));
    let half = [description(1), row(&[Some("1")]), error("ERROR", "22012"), READY.to_vec()];
    assert_eq!(judge("", &half), answered(Verdict::Refused("sqlstate-22012"), true));
    let fatal = Verdict::Refused("sqlstate-57P01");
    assert_eq!(judge("", &[error("FATAL", "57P01")]), answered(fatal, false));
    let mut conn = ready("");
    assert_eq!(talk(&mut *conn, None, &error("FATAL", "57P01")).1, Err(Fault::Named("sqlstate-57P01")));
}

#[test]
fn what_the_protocol_does_not_allow_is_a_fault() {
    for parts in [
        vec![READY.to_vec()],
        vec![row(&[Some("1")])],
        vec![description(2), row(&[Some("1")])],
        vec![description(1), message(b'D', b"\0\x01\0\0\0\x05abc")],
        vec![description(1), message(b'D', b"\0\x01\0\0\0\x01abc")],
        vec![description(1), message(b'D', b"\0\x01\xff\xff\xff\xfe")],
        vec![description(1), message(b'D', b"\0\x01\0")],
        vec![message(b'1', b"")],
        vec![OK.to_vec()],
        vec![complete("SELECT 1"), message(b'Z', b"X")],
        vec![message(b'Z', b"II")],
        vec![message(b'C', b"SELECT 1")],
        vec![message(b'E', b"Mno code\0\0")],
        vec![message(b'?', b"")],
        vec![b"C\0\0\0\x03".to_vec()],
    ] {
        assert_eq!(judge("", &parts), Err(Fault::Malformed), "{}", parts.concat().escape_ascii());
    }
    assert_eq!(judge("", &[message(b'G', b"\0\0\0")]), Err(Fault::Named("copy")));
    assert_eq!(judge("", &[b"D\x40\0\0\x05".to_vec()]), Err(Fault::TooLarge));
    let mut conn = ready("");
    assert_eq!(talk(&mut *conn, None, &complete("SELECT 1")).1, Err(Fault::Unasked));
    // The server may say this at any time.
    let noticed =
        [message(b'N', b"SNOTICE\0\0"), message(b'S', b"a\0b\0"), message(b'A', b"\0\0\0\x01a\0\0")].concat();
    assert_eq!(talk(&mut *conn, None, &noticed).1, Ok(Progress::More));
}

#[test]
fn several_queries_have_one_database_and_one_protocol() {
    let options = |paths: &[&str]| ClientOptions {
        requests: paths.iter().map(|p| RequestSpec { path: (*p).into(), ..RequestSpec::default() }).collect(),
        in_turn: true,
        ..ClientOptions::default()
    };
    let build = |paths: &[&str]| (ENTRY.build)(&Url::parse("postgres://h").unwrap(), &options(paths));
    let protocol = build(&["/db?query=A", "/db?query=B"]).unwrap();
    let mut conn = protocol.connect();
    let mut out = Outgoing::new();
    let tags = [0, 1, 2].map(|index| conn.request(Draw { random: 0, index }, &mut out).0);
    assert_eq!(
        (tags, out.payload().as_slice()),
        ([0, 1, 0], &b"Q\0\0\0\x06A\0Q\0\0\0\x06B\0Q\0\0\0\x06A\0"[..])
    );
    assert!(build(&["/db", "/other"]).is_err());
    assert!(build(&["/db", "/db?protocol=prepared"]).is_err());
    let mut both = options(&["/?query=A"]);
    both.requests[0].body = b"B".to_vec();
    assert!((ENTRY.build)(&Url::parse("postgres://h").unwrap(), &both).is_err());
}

/// All that is made of an input in pieces, the first request being sent as soon as possible.
fn judged<'a>(
    protocol: &dyn ClientProtocol,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> (Vec<Progress>, Result<usize, Fault>) {
    let (mut conn, mut out) = (protocol.connect(), Outgoing::new());
    conn.open(&mut out);
    let (mut seen, mut tail, mut tag) = (Vec::new(), Vec::new(), None);
    for piece in pieces {
        tail.extend_from_slice(piece);
        loop {
            let received = match conn.receive(tag, &tail, &mut out) {
                Ok(received) => received,
                Err(fault) => return (seen, Err(fault)),
            };
            tail.drain(..received.consumed);
            if received.progress == Progress::More {
                assert!(tail.len() <= 8192, "the unconsumed input has no bound");
                break;
            }
            seen.push(received.progress);
            if matches!(received.progress, Progress::Reply(reply) if !reply.persists) {
                return (seen, Ok(0));
            }
            tag = Some(conn.request(Draw { random: 0, index: 0 }, &mut out));
        }
    }
    (seen, Ok(tail.len()))
}

fn any_message() -> impl Strategy<Value = Vec<u8>> {
    let columns = prop::collection::vec(prop::option::of("[ab]{0,9}"), 0..4);
    let kind = prop::sample::select(b"RZTDCEINSAK12nGHt?".to_vec());
    prop_oneof![
        4 => columns.prop_map(|c| [description(c.len() as u16), row(&c.iter().map(Option::as_deref).collect::<Vec<_>>())].concat()),
        3 => (0..3u8).prop_map(|n| complete(&format!("SELECT {n}"))),
        3 => Just(READY.to_vec()),
        1 => Just(error("ERROR", "22012")),
        1 => Just(error("FATAL", "57P01")),
        1 => (kind, prop::collection::vec(any::<u8>(), 0..20)).prop_map(|(kind, content)| message(kind, &content)),
        1 => prop::collection::vec(any::<u8>(), 0..20),
    ]
}

proptest! {
    #[test]
    fn whatever_a_server_sends_is_judged_the_same_wherever_it_is_split(
        messages in prop::collection::vec(any_message(), 0..12),
        prepared: bool,
        cut in 1..40usize,
    ) {
        let path = if prepared { "/?protocol=prepared&value=a" } else { "/?value=ab&rows=1" };
        let protocol = protocol("postgres://h", path).unwrap();
        let parsed = if prepared { [message(b'1', b""), READY.to_vec()].concat() } else { Vec::new() };
        let input = [OK, READY, &parsed, &messages.concat()].concat();
        let whole = judged(&*protocol, [&*input].into_iter());
        prop_assert_eq!(whole.0.first(), Some(&Progress::Ready));
        prop_assert_eq!(judged(&*protocol, input.chunks(cut)), whole);
    }
}

/// A connection that plays a script of these statements, and is ready.
fn playing(statements: &[&str]) -> Box<dyn ClientConn> {
    let step = |(n, text): (usize, &&str)| StepSpec {
        name: format!("line {}", n + 1),
        request: RequestSpec { body: text.as_bytes().to_vec(), ..RequestSpec::default() },
        ..StepSpec::default()
    };
    let steps = statements.iter().enumerate().map(step).collect();
    let sessions = vec![SessionSpec { name: "s".into(), weight: 1.0, draws: Vec::new(), steps }];
    let options = ClientOptions { sessions, ..ClientOptions::default() };
    let protocol = (ENTRY.build)(&Url::parse("postgres://h").unwrap(), &options).unwrap();
    assert!(protocol.sessions().unwrap().keeps_connection);
    let mut conn = protocol.connect();
    conn.open(&mut Outgoing::new());
    assert_eq!(talk(&mut *conn, None, &[OK, READY].concat()).1, Ok(Progress::Ready));
    conn
}

/// The end of a reply within a transaction.
const IN_TRANSACTION: &[u8] = b"Z\0\0\0\x05T";

/// Sends the next step and answers it: what is sent next, and what becomes of the step.
fn play_step(conn: &mut dyn ClientConn, reply: &[Vec<u8>]) -> (Vec<u8>, Result<Progress, Fault>) {
    let tag = conn.request(Draw { random: 1, index: 0 }, &mut Outgoing::new());
    talk(conn, Some(tag), &reply.concat())
}

#[test]
fn the_transaction_of_a_failed_step_is_rolled_back_before_its_session_ends() {
    let rollback = &b"Q\0\0\0\x0dROLLBACK\0"[..];
    let mut conn = playing(&["BEGIN", "SELECT 1/0", "COMMIT"]);
    let begin = [complete("BEGIN"), IN_TRANSACTION.to_vec()];
    assert_eq!(play_step(&mut *conn, &begin).1, answered(Verdict::Right, true));
    let failed = [error("ERROR", "22012"), b"Z\0\0\0\x05E".to_vec()];
    assert_eq!(play_step(&mut *conn, &failed), (rollback.to_vec(), Ok(Progress::More)));
    let ended = talk(&mut *conn, Some(Tag(1)), &[complete("ROLLBACK"), READY.to_vec()].concat());
    assert_eq!(ended.1, answered(Verdict::Refused("s/line 2:sqlstate-22012"), true));
    assert_eq!(conn.session().unwrap().turn(), Turn::Failed(1));
    // A script that ends within one, as only the server knows.
    let mut conn = playing(&["CALL p()"]);
    assert_eq!(play_step(&mut *conn, &[complete("CALL"), IN_TRANSACTION.to_vec()]).0, rollback);
    let ended = talk(&mut *conn, Some(Tag(0)), &[complete("ROLLBACK"), READY.to_vec()].concat());
    assert_eq!(ended.1, answered(Verdict::Refused("s/line 1:transaction-left-open"), true));
}

#[test]
fn a_connection_that_is_lost_within_a_transaction_fails_the_next_step() {
    let mut conn = playing(&["BEGIN", "COMMIT"]);
    let begin = [complete("BEGIN"), IN_TRANSACTION.to_vec()];
    assert_eq!(play_step(&mut *conn, &begin).1, answered(Verdict::Right, true));
    conn.open(&mut Outgoing::new());
    assert_eq!(talk(&mut *conn, None, &[OK, READY].concat()).1, Ok(Progress::Ready));
    let lost = play_step(&mut *conn, &[complete("COMMIT"), READY.to_vec()]).1;
    assert_eq!(lost, answered(Verdict::Refused("s/line 2:transaction-lost"), true));
    assert_eq!(play_step(&mut *conn, &begin).1, answered(Verdict::Right, true));
}
