use super::*;
use crate::batch::Recipient;

const PIPELINING: &str = "250-mx\r\n250-8BITMIME\r\n250 PIPELINING\r\n";

fn message(test: bool, tls: TlsPolicy) -> Message {
    Message::new("me".into(), "a@b".into(), b"hello\n", test, tls)
}

fn batch(locals: &[&str]) -> Batch {
    let recipient = |local: &&str| Recipient { local: (*local).into(), domain: 0, attempts: 0 };
    Batch::new(locals.iter().map(recipient).collect())
}

/// A conversation whose every word is kept.
struct Talk {
    dialogue: Dialogue,
    message: Message,
    said: Vec<u8>,
}

impl Talk {
    fn new(message: Message) -> Talk {
        Talk { dialogue: Dialogue::new(message.tls), message, said: Vec::new() }
    }

    fn greeted(test: bool, ehlo: &str) -> Talk {
        let mut talk = Talk::new(message(test, TlsPolicy::Off));
        assert_eq!(talk.hear("220 mx\r\n"), ("EHLO me\r\n".into(), Ok(Event::More)));
        assert_eq!(talk.hear(ehlo), (String::new(), Ok(Event::Ready)));
        talk
    }

    /// What is said to this, and the last event.
    fn hear(&mut self, input: &str) -> (String, Result<Event, Fault>) {
        let mut rest = input.as_bytes();
        loop {
            let result = self.dialogue.receive(rest, &self.message, |_| "x.test", &mut self.said);
            match result {
                Ok((used, event)) => {
                    rest = &rest[used..];
                    if event == Event::More || rest.is_empty() {
                        return (self.taken(), Ok(event));
                    }
                }
                Err(fault) => return (self.taken(), Err(fault)),
            }
        }
    }

    /// The same where only its end matters.
    fn go(&mut self, input: &str) {
        self.hear(input).1.unwrap();
    }

    fn taken(&mut self) -> String {
        String::from_utf8(std::mem::take(&mut self.said)).unwrap()
    }

    fn begin(&mut self, locals: &[&str]) -> (String, bool) {
        let begun = self.dialogue.begin(batch(locals), &self.message, |_| "x.test", &mut self.said);
        (self.taken(), begun)
    }

    fn send(&mut self) -> String {
        self.dialogue.send_message(&self.message, &mut self.said);
        self.taken()
    }
}

fn no(code: u16, text: &str) -> Answer {
    Answer::No(Reply { code, text: text.as_bytes().into() })
}

#[test]
fn a_pipelined_test_ends_with_rset_and_tells_recipients_apart() {
    let mut talk = Talk::greeted(true, PIPELINING);
    let all = "MAIL FROM:<a@b>\r\nRCPT TO:<p@x.test>\r\nRCPT TO:<q@x.test>\r\nRCPT TO:<r@x.test>\r\nRSET\r\n";
    assert_eq!(talk.begin(&["p", "q", "r"]), (all.into(), true));
    let replies = "250 ok\r\n250 ok\r\n550-5.1.1 no\r\n550 5.1.1 such\r\n451 later\r\n250 ok\r\n";
    assert_eq!(talk.hear(replies), (String::new(), Ok(Event::Finished)));
    let batch = talk.dialogue.take_batch();
    assert_eq!(batch.answers, [Answer::Taken, no(550, "5.1.1 no"), no(451, "later")]);
    assert_eq!((batch.taken, batch.closing), (1, None));
    // RSET was said: the next transaction begins with MAIL.
    assert!(talk.begin(&["s"]).0.starts_with("MAIL"));
}

#[test]
fn a_message_goes_out_when_the_host_asks_and_its_reply_decides() {
    let mut talk = Talk::greeted(false, PIPELINING);
    assert!(talk.begin(&["p"]).0.ends_with("DATA\r\n"));
    assert_eq!(talk.hear("250 a\r\n250 b\r\n354 go\r\n").1, Ok(Event::MaySend));
    assert_eq!((talk.dialogue.taken(), talk.send()), (1, "hello\r\n.\r\n".into()));
    assert_eq!(talk.hear("250 2.0.0 queued as 7\r\n").1, Ok(Event::Finished));
    let batch = talk.dialogue.take_batch();
    assert_eq!(batch.closing, Some(Reply { code: 250, text: b"2.0.0 queued as 7".as_slice().into() }));
    assert!(batch.message_sent && !batch.in_doubt);
}

#[test]
fn without_pipelining_each_command_waits_and_nobody_means_no_data() {
    let mut talk = Talk::greeted(false, "250 mx\r\n");
    assert_eq!(talk.begin(&["p", "q"]).0, "MAIL FROM:<a@b>\r\n");
    assert_eq!(talk.hear("250 ok\r\n").0, "RCPT TO:<p@x.test>\r\n");
    assert_eq!(talk.hear("250 ok\r\n").0, "RCPT TO:<q@x.test>\r\n");
    assert_eq!(talk.hear("450 later\r\n").0, "DATA\r\n");
    assert_eq!(talk.hear("354 go\r\n").1, Ok(Event::MaySend));
    talk.send();
    assert_eq!(talk.hear("452 full\r\n").1, Ok(Event::Finished));
    assert_eq!(talk.dialogue.take_batch().closing.map(|s| s.code), Some(452));

    talk.begin(&["p"]);
    talk.go("250 ok\r\n");
    assert_eq!(talk.hear("550 no\r\n"), (String::new(), Ok(Event::Finished)));
    talk.dialogue.take_batch();
    // The host still thinks of the transaction: it is taken back first.
    assert_eq!(talk.begin(&["q"]).0, "RSET\r\n");
    assert_eq!(talk.hear("250 ok\r\n").0, "MAIL FROM:<a@b>\r\n");
}

#[test]
fn a_refused_sender_decides_for_all_whatever_is_said_of_recipients() {
    let mut talk = Talk::greeted(false, PIPELINING);
    talk.begin(&["p", "q"]);
    assert_eq!(talk.hear("451 not now\r\n503 no\r\n503 no\r\n503 no\r\n").1, Ok(Event::Finished));
    let batch = talk.dialogue.take_batch();
    assert_eq!(batch.answers, [Answer::Open, Answer::Open]);
    assert_eq!(batch.closing.map(|s| s.code), Some(451));
    assert!(talk.begin(&["r"]).0.starts_with("RSET\r\nMAIL"));
}

#[test]
fn a_host_that_wants_a_message_for_nobody_gets_an_empty_one() {
    let mut talk = Talk::greeted(false, PIPELINING);
    talk.begin(&["p"]);
    assert_eq!(talk.hear("250 a\r\n550 no\r\n354 go\r\n").1, Ok(Event::MaySend));
    assert_eq!((talk.dialogue.taken(), talk.send()), (0, ".\r\n".into()));
    assert_eq!(talk.hear("554 nobody\r\n").1, Ok(Event::Finished));
    let batch = talk.dialogue.take_batch();
    assert_eq!(batch.answers, [no(550, "no")]);
    assert!(!batch.message_sent);
}

#[test]
fn too_many_recipients_is_no_word_against_the_rest() {
    let mut talk = Talk::greeted(true, PIPELINING);
    talk.begin(&["p", "q", "r"]);
    talk.go("250 a\r\n250 b\r\n452 4.5.3 enough\r\n452 4.2.2 mailbox full\r\n250 ok\r\n");
    let answers = talk.dialogue.take_batch().answers;
    assert_eq!(answers, [Answer::Taken, Answer::Overflow, no(452, "4.2.2 mailbox full")]);
}

#[test]
fn addresses_and_messages_that_a_host_cannot_take_are_not_tried_there() {
    let mut talk = Talk::greeted(true, PIPELINING);
    let (said, begun) = talk.begin(&["jürgen"]);
    assert_eq!((said.as_str(), begun), ("", false));
    assert!(matches!(&talk.dialogue.take_batch().answers[0], Answer::No(s) if s.code == 553));

    let mut talk = Talk::greeted(true, "250-mx\r\n250 SMTPUTF8\r\n");
    assert_eq!(talk.begin(&["jürgen"]).0, "MAIL FROM:<a@b> SMTPUTF8\r\n");

    let mut talk = Talk::greeted(true, "250-mx\r\n250 SIZE 3\r\n");
    assert_eq!(talk.begin(&["p"]), (String::new(), false));
    assert_eq!(talk.dialogue.take_batch().closing.map(|s| s.code), Some(552));
}

#[test]
fn starttls_is_taken_up_refused_or_insisted_on() {
    let offers = "250-mx\r\n250 STARTTLS\r\n";
    let greet = |tls, ehlo| {
        let mut talk = Talk::new(message(true, tls));
        talk.go("220 mx\r\n");
        let said = talk.hear(ehlo);
        (talk, said)
    };
    let (mut talk, said) = greet(TlsPolicy::Auto, offers);
    assert_eq!(said.0, "STARTTLS\r\n");
    assert_eq!(talk.hear("220 go\r\n").1, Ok(Event::StartTls));
    talk.dialogue.secured(&talk.message, &mut talk.said);
    assert_eq!(talk.taken(), "EHLO me\r\n");
    // Whatever is offered now, it is not taken up twice.
    assert_eq!(talk.hear(offers), (String::new(), Ok(Event::Ready)));

    let (mut talk, _) = greet(TlsPolicy::Auto, offers);
    assert_eq!(talk.hear("454 not now\r\n").1, Ok(Event::Ready));
    let (mut talk, _) = greet(TlsPolicy::Require, offers);
    assert!(matches!(talk.hear("454 not now\r\n").1, Ok(Event::Unwilling(_))));
    assert!(matches!(greet(TlsPolicy::Require, PIPELINING).1.1, Ok(Event::Unwilling(_))));
    assert_eq!(greet(TlsPolicy::Off, offers).1.1, Ok(Event::Ready));
}

#[test]
fn an_unwilling_host_is_told_from_one_that_does_not_speak() {
    let said = |code, text: &str| Ok(Event::Unwilling(Reply { code, text: text.as_bytes().into() }));
    let mut talk = Talk::new(message(true, TlsPolicy::Off));
    assert_eq!(talk.hear("554 5.3.2 go away\r\n").1, said(554, "5.3.2 go away"));
    let mut talk = Talk::greeted(true, PIPELINING);
    talk.begin(&["p"]);
    assert_eq!(talk.hear("250 a\r\n421 bye\r\n").1, said(421, "bye"));
    let mut talk = Talk::new(message(true, TlsPolicy::Off));
    assert_eq!(talk.hear("SSH-2.0-OpenSSH\r\n").1, Err(Fault::Malformed));
    assert_eq!(Talk::greeted(true, PIPELINING).hear("250 more\r\n").1, Err(Fault::Unasked));
    assert_eq!(Talk::greeted(true, PIPELINING).hear("421 idle\r\n").1, Ok(Event::Closed));
}

#[test]
fn an_old_host_is_greeted_with_helo() {
    let mut talk = Talk::new(message(true, TlsPolicy::Auto));
    talk.go("220 old\r\n");
    assert_eq!(talk.hear("500 what\r\n").0, "HELO me\r\n");
    assert_eq!(talk.hear("250 hi\r\n").1, Ok(Event::Ready));
}
