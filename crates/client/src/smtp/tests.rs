use super::*;
use crate::exchange::{Draw, Fault, Opening, Progress, Received, Reply, Tag, Verdict};
use crate::outgoing::Outgoing;
use crate::request::RequestSpec;

fn conn(path: &str) -> Box<dyn ClientConn> {
    let url = Url::parse("smtp://h").unwrap();
    let request = RequestSpec { path: path.into(), body: b".\n".to_vec(), ..RequestSpec::default() };
    let options = ClientOptions { requests: vec![request], ..ClientOptions::default() };
    build(&url, &options).unwrap().connect()
}

/// What the connection says to these replies, given all at once, and the last progress it makes.
fn talk(conn: &mut dyn ClientConn, replies: &str) -> (String, Result<Progress, Fault>) {
    let (mut out, mut input) = (Outgoing::new(), replies.as_bytes());
    loop {
        match conn.receive(Some(Tag(0)), input, &mut out) {
            Ok(Received { consumed, progress }) => {
                input = &input[consumed..];
                if progress == Progress::More || input.is_empty() {
                    return (String::from_utf8(out.payload().as_slice().to_vec()).unwrap(), Ok(progress));
                }
            }
            Err(fault) => return (String::new(), Err(fault)),
        }
    }
}

fn ask(conn: &mut dyn ClientConn) -> String {
    let mut out = Outgoing::new();
    conn.request(Draw { random: 0, index: 0 }, &mut out);
    String::from_utf8(out.payload().as_slice().to_vec()).unwrap()
}

fn greeted(path: &str, ehlo: &str) -> Box<dyn ClientConn> {
    let mut conn = conn(path);
    assert_eq!(conn.open(&mut Outgoing::new()), Opening::Greeting);
    assert_eq!(talk(&mut *conn, "220 mx\r\n"), ("EHLO pitot.invalid\r\n".into(), Ok(Progress::More)));
    assert_eq!(talk(&mut *conn, ehlo), (String::new(), Ok(Progress::Ready)));
    conn
}

const PIPELINING: &str = "250-mx\r\n250 PIPELINING\r\n";

fn answered(verdict: Verdict, persists: bool) -> Result<Progress, Fault> {
    Ok(Progress::Reply(Reply { verdict, status: 0, persists, content: 0 }))
}

#[test]
fn a_transaction_goes_out_at_once_where_the_server_pipelines() {
    let mut conn = greeted("/?from=a@b&to=c@d&recipients=2", PIPELINING);
    let all = "MAIL FROM:<a@b>\r\nRCPT TO:<0-c@d>\r\nRCPT TO:<1-c@d>\r\nDATA\r\n";
    assert_eq!(ask(&mut *conn), all);
    assert_eq!(
        talk(&mut *conn, "250 a\r\n250 b\r\n250 c\r\n354 go\r\n"),
        ("..\r\n.\r\n".into(), Ok(Progress::More))
    );
    // A second request waits its turn.
    assert_eq!(ask(&mut *conn), "");
    assert_eq!(talk(&mut *conn, "250 kept\r\n"), (all.into(), answered(Verdict::Right, true)));
    assert_eq!(conn.counts(), [("messages", 1), ("recipients", 2)]);
}

#[test]
fn without_pipelining_each_command_waits_for_its_reply() {
    for (path, ehlo) in [("/?end=rset", "250 mx\r\n"), ("/?end=rset&pipelining=off", PIPELINING)] {
        let mut conn = greeted(path, ehlo);
        assert_eq!(ask(&mut *conn), "MAIL FROM:<sender@example.com>\r\n");
        assert_eq!(talk(&mut *conn, "250 a\r\n").0, "RCPT TO:<recipient@example.net>\r\n");
        assert_eq!(talk(&mut *conn, "250 b\r\n").0, "RSET\r\n");
        assert_eq!(talk(&mut *conn, "250 c\r\n"), (String::new(), answered(Verdict::Right, true)));
    }
}

#[test]
fn a_refused_command_is_told_by_its_code_and_the_transaction_taken_back() {
    let mut one_by_one = greeted("/", "250 mx\r\n");
    ask(&mut *one_by_one);
    assert_eq!(talk(&mut *one_by_one, "452 full\r\n"), ("RSET\r\n".into(), Ok(Progress::More)));
    assert_eq!(talk(&mut *one_by_one, "250 ok\r\n").1, answered(Verdict::Status(452), true));

    let mut pipelined = greeted("/", PIPELINING);
    ask(&mut *pipelined);
    assert_eq!(talk(&mut *pipelined, "250 a\r\n550 who\r\n554 nobody\r\n").0, "RSET\r\n");
    assert_eq!(talk(&mut *pipelined, "250 ok\r\n").1, answered(Verdict::Status(550), true));

    ask(&mut *pipelined);
    assert_eq!(talk(&mut *pipelined, "421 bye\r\n").1, answered(Verdict::Status(421), false));
}

#[test]
fn a_server_without_ehlo_is_greeted_with_helo() {
    let mut conn = conn("/");
    conn.open(&mut Outgoing::new());
    assert_eq!(talk(&mut *conn, "220 old\r\n502 what\r\n").0, "EHLO pitot.invalid\r\nHELO pitot.invalid\r\n");
    assert_eq!(talk(&mut *conn, "250 hello\r\n").1, Ok(Progress::Ready));
}

#[test]
fn what_nobody_asked_for_and_what_is_no_banner_is_a_fault() {
    assert_eq!(talk(&mut *greeted("/", PIPELINING), "250 more\r\n").1, Err(Fault::Unasked));
    assert_eq!(talk(&mut *conn("/"), "554 go away\r\n").1, Err(Fault::Named("refused")));
    assert_eq!(talk(&mut *conn("/"), "HTTP/1.1 400 Bad Request\r\n").1, Err(Fault::Malformed));
}

#[test]
fn a_generated_message_is_as_long_as_asked_for() {
    let url = Url::parse("smtp://h").unwrap();
    for size in [200usize, 1024, 5000] {
        let path = format!("/?size={size}");
        let request = RequestSpec { path, ..RequestSpec::default() };
        let options = ClientOptions { requests: vec![request], ..ClientOptions::default() };
        let longest = build(&url, &options).unwrap().request_bytes_max().unwrap();
        assert!((size..size + 8).contains(&longest), "{size}: {longest}");
    }
}
