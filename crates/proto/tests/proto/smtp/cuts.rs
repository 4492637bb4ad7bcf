//! The answer does not depend on how the input is cut.

use pitot_proto_harness as harness;
use pitot_proto_harness::Outcome;

use pitot_proto::smtp::{Smtp, SmtpOptions};

use super::support::{NO_FILES, store, storing};

const SCRIPT: &[u8] = b"EHLO client.test\r\nMAIL FROM:<a@b.test> SIZE=10 \r\nRCPT TO:<\"x>\"@c>\r\nRCPT TO:<>\r\nNOOP\n\
    DATA\r\nSubject: a\r\n\r\n..\r\n.x\r\n.\r\nFOO\rBAR\r\nMAIL FROM:<>\r\nRCPT TO:<Postmaster>\r\nDATA\r\nodd\n.\r\nend\r\n\
    .\r\n\r\nVRFY a\r\nMAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nRSET\r\nDATA\r\nQUIT\r\n";

fn exchange<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    harness::exchange(&store(), &NO_FILES, pieces)
}

#[test]
fn one_script_cut_at_every_byte_and_byte_by_byte() {
    let whole = exchange([SCRIPT]);
    let said = String::from_utf8(whole.sent.clone()).unwrap();
    let codes: Vec<&str> =
        said.lines().filter(|line| line.as_bytes()[3] == b' ').map(|line| &line[..3]).collect();
    let wanted = "220 250 250 250 501 500 354 250 500 250 250 354 554 500 252 250 250 250 503 221";
    assert_eq!(codes.join(" "), wanted);
    assert_eq!(whole.uploads.len(), 1);
    assert!(
        whole.uploads[0].ends_with(b"+0000\nSubject: a\n\n.\nx\n"),
        "{}",
        whole.uploads[0].escape_ascii()
    );
    for at in 0..SCRIPT.len() {
        let (head, tail) = SCRIPT.split_at(at);
        assert_eq!(exchange([head, tail]), whole, "cut at {at}");
    }
    assert_eq!(exchange(SCRIPT.chunks(1)), whole);
}

#[test]
fn a_long_line_is_refused_alike_however_it_comes() {
    let input = [b"EHLO c\r\nNOOP ".to_vec(), vec![b'x'; 5000], b"\r\nNOOP\r\n".to_vec()].concat();
    let whole = exchange([&input[..]]);
    for size in [1, 7, 2047, 2048, 2049, 4100] {
        assert_eq!(exchange(input.chunks(size)), whole, "in pieces of {size}");
    }
}

/// Several faults in one message have one answer.
#[test]
fn a_message_with_several_faults_is_refused_alike_however_it_comes() {
    let head = b"EHLO c\r\nMAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nDATA\r\n";
    let server = Smtp::new(&SmtpOptions { message_bytes_max: 40, ..storing() }).unwrap();
    let long = "x".repeat(50);
    for faults in
        ["a\0b\nc", "a\nb\0c", &format!("{long}\nc"), &format!("a\0{long}"), &format!("{long}\0c\n.\n")]
    {
        let input = [&head[..], faults.as_bytes(), b"\r\n.\r\nNOOP\r\n"].concat();
        let whole = harness::exchange(&server, &NO_FILES, [&input[..]]);
        for at in 0..input.len() {
            let (head, tail) = input.split_at(at);
            let cut = harness::exchange(&server, &NO_FILES, [head, tail]);
            assert_eq!(cut, whole, "{faults:?} cut at {at}");
        }
        assert_eq!(harness::exchange(&server, &NO_FILES, input.chunks(1)), whole, "{faults:?}");
    }
}
