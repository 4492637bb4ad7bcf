use super::*;
use crate::batch::Recipient;

const PIPELINING: &str = "250-mx\r\n250-8BITMIME\r\n250 PIPELINING\r\n";

fn message(test: bool, tls: TlsPolicy) -> Message {
    Message::new("me".into(), "a@b".into(), b"hello\n", test, tls)
}

fn batch(locals: &[&str]) -> Batch {
    let recipient = |local: &&str| Recipient {
        local: (*local).into(),
        domain: 0,
        attempts: 0,
        together: u16::MAX,
        stepwise: false,
    };
    Batch::new(locals.iter().map(recipient).collect())
}

/// A conversation whose commands are kept.
struct Conversation {
    dialogue: Dialogue,
    message: Message,
    commands: Vec<u8>,
}

impl Conversation {
    fn new(message: Message) -> Conversation {
        Conversation { dialogue: Dialogue::new(message.tls, false), message, commands: Vec::new() }
    }

    fn greeted(test: bool, ehlo: &str) -> Conversation {
        let mut conversation = Conversation::new(message(test, TlsPolicy::Off));
        assert_eq!(conversation.feed("220 mx\r\n"), ("EHLO me\r\n".into(), Ok(Event::More)));
        assert_eq!(conversation.feed(ehlo), (String::new(), Ok(Event::Ready)));
        conversation
    }

    /// Feeds input, and returns the commands in response and the last event.
    fn feed(&mut self, input: &str) -> (String, Result<Event, Fault>) {
        let mut rest = input.as_bytes();
        loop {
            let result = self.dialogue.receive(rest, &self.message, |_| "x.test", &mut self.commands);
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
        self.feed(input).1.unwrap();
    }

    fn taken(&mut self) -> String {
        String::from_utf8(std::mem::take(&mut self.commands)).unwrap()
    }

    fn begin(&mut self, locals: &[&str]) -> (String, bool) {
        let begun = self.dialogue.begin(batch(locals), &self.message, |_| "x.test", &mut self.commands);
        (self.taken(), begun)
    }

    fn send(&mut self) -> String {
        self.dialogue.send_message(&self.message, &mut self.commands);
        self.taken()
    }
}

fn no(code: u16, text: &str) -> RecipientState {
    RecipientState::No(Reply { code, text: text.as_bytes().into() })
}

#[test]
fn a_pipelined_test_ends_with_rset_and_matches_replies_to_recipients() {
    let mut conversation = Conversation::greeted(true, PIPELINING);
    let all = "MAIL FROM:<a@b>\r\nRCPT TO:<p@x.test>\r\nRCPT TO:<q@x.test>\r\nRCPT TO:<r@x.test>\r\nRSET\r\n";
    assert_eq!(conversation.begin(&["p", "q", "r"]), (all.into(), true));
    let replies = "250 ok\r\n250 ok\r\n550-5.1.1 no\r\n550 5.1.1 such\r\n451 later\r\n250 ok\r\n";
    assert_eq!(conversation.feed(replies), (String::new(), Ok(Event::Finished)));
    let batch = conversation.dialogue.take_batch();
    assert_eq!(batch.answers, [RecipientState::Taken, no(550, "5.1.1 no"), no(451, "later")]);
    assert_eq!((batch.taken, batch.closing), (1, None));
    // RSET was sent: the next transaction begins with MAIL.
    assert!(conversation.begin(&["s"]).0.starts_with("MAIL"));
}

#[test]
fn a_message_goes_out_when_the_host_asks_and_its_reply_decides() {
    let mut conversation = Conversation::greeted(false, PIPELINING);
    assert!(conversation.begin(&["p"]).0.ends_with("DATA\r\n"));
    assert_eq!(conversation.feed("250 a\r\n250 b\r\n354 go\r\n").1, Ok(Event::MaySend));
    assert_eq!((conversation.dialogue.taken(), conversation.send()), (1, "hello\r\n.\r\n".into()));
    assert_eq!(conversation.feed("250 2.0.0 queued as 7\r\n").1, Ok(Event::Finished));
    let batch = conversation.dialogue.take_batch();
    assert_eq!(batch.closing, Some(Reply { code: 250, text: b"2.0.0 queued as 7".as_slice().into() }));
    assert!(batch.message_sent && !batch.in_doubt);
}

#[test]
fn without_pipelining_each_command_waits_and_nobody_means_no_data() {
    let mut conversation = Conversation::greeted(false, "250 mx\r\n");
    assert_eq!(conversation.begin(&["p", "q"]).0, "MAIL FROM:<a@b>\r\n");
    assert_eq!(conversation.feed("250 ok\r\n").0, "RCPT TO:<p@x.test>\r\n");
    assert_eq!(conversation.feed("250 ok\r\n").0, "RCPT TO:<q@x.test>\r\n");
    assert_eq!(conversation.feed("450 later\r\n").0, "DATA\r\n");
    assert_eq!(conversation.feed("354 go\r\n").1, Ok(Event::MaySend));
    conversation.send();
    assert_eq!(conversation.feed("452 full\r\n").1, Ok(Event::Finished));
    assert_eq!(conversation.dialogue.take_batch().closing.map(|s| s.code), Some(452));

    conversation.begin(&["p"]);
    conversation.go("250 ok\r\n");
    assert_eq!(conversation.feed("550 no\r\n"), (String::new(), Ok(Event::Finished)));
    conversation.dialogue.take_batch();
    // The host still has the transaction open: it is reset first.
    assert_eq!(conversation.begin(&["q"]).0, "RSET\r\n");
    assert_eq!(conversation.feed("250 ok\r\n").0, "MAIL FROM:<a@b>\r\n");
}

#[test]
fn a_refused_sender_decides_for_all_whatever_the_replies_to_recipients() {
    let mut conversation = Conversation::greeted(false, PIPELINING);
    conversation.begin(&["p", "q"]);
    assert_eq!(conversation.feed("451 not now\r\n503 no\r\n503 no\r\n503 no\r\n").1, Ok(Event::Finished));
    let batch = conversation.dialogue.take_batch();
    assert_eq!(batch.answers, [RecipientState::Open, RecipientState::Open]);
    assert_eq!(batch.closing.map(|s| s.code), Some(451));
    assert!(conversation.begin(&["r"]).0.starts_with("RSET\r\nMAIL"));
}

#[test]
fn a_host_that_wants_a_message_for_nobody_gets_an_empty_one() {
    let mut conversation = Conversation::greeted(false, PIPELINING);
    conversation.begin(&["p"]);
    assert_eq!(conversation.feed("250 a\r\n550 no\r\n354 go\r\n").1, Ok(Event::MaySend));
    assert_eq!((conversation.dialogue.taken(), conversation.send()), (0, ".\r\n".into()));
    assert_eq!(conversation.feed("554 nobody\r\n").1, Ok(Event::Finished));
    let batch = conversation.dialogue.take_batch();
    assert_eq!(batch.answers, [no(550, "no")]);
    assert!(!batch.message_sent);
}

#[test]
fn too_many_recipients_is_no_refusal_of_the_rest() {
    let mut conversation = Conversation::greeted(true, PIPELINING);
    conversation.begin(&["p", "q", "r"]);
    conversation.go("250 a\r\n250 b\r\n452 4.5.3 enough\r\n452 4.2.2 mailbox full\r\n250 ok\r\n");
    let answers = conversation.dialogue.take_batch().answers;
    assert_eq!(answers, [RecipientState::Taken, RecipientState::Overflow, no(452, "4.2.2 mailbox full")]);
}

#[test]
fn addresses_and_messages_that_a_host_cannot_take_are_not_tried_there() {
    let mut conversation = Conversation::greeted(true, PIPELINING);
    let (commands, begun) = conversation.begin(&["jürgen"]);
    assert_eq!((commands.as_str(), begun), ("", false));
    assert!(matches!(&conversation.dialogue.take_batch().answers[0], RecipientState::No(s) if s.code == 553));

    let mut conversation = Conversation::greeted(true, "250-mx\r\n250 SMTPUTF8\r\n");
    assert_eq!(conversation.begin(&["jürgen"]).0, "MAIL FROM:<a@b> SMTPUTF8\r\n");

    let mut conversation = Conversation::greeted(true, "250-mx\r\n250 SIZE 3\r\n");
    assert_eq!(conversation.begin(&["p"]), (String::new(), false));
    assert_eq!(conversation.dialogue.take_batch().closing.map(|s| s.code), Some(552));
}

#[test]
fn starttls_is_used_refused_or_required() {
    let offers = "250-mx\r\n250 STARTTLS\r\n";
    let greet = |tls, ehlo| {
        let mut conversation = Conversation::new(message(true, tls));
        conversation.go("220 mx\r\n");
        let commands = conversation.feed(ehlo);
        (conversation, commands)
    };
    let (mut conversation, commands) = greet(TlsPolicy::Auto, offers);
    assert_eq!(commands.0, "STARTTLS\r\n");
    assert_eq!(conversation.feed("220 go\r\n").1, Ok(Event::StartTls));
    conversation.dialogue.secured(&conversation.message, &mut conversation.commands);
    assert_eq!(conversation.taken(), "EHLO me\r\n");
    // STARTTLS is not used twice, even if it is offered again.
    assert_eq!(conversation.feed(offers), (String::new(), Ok(Event::Ready)));

    let (mut conversation, _) = greet(TlsPolicy::Auto, offers);
    assert_eq!(conversation.feed("454 not now\r\n").1, Ok(Event::Ready));
    let (mut conversation, _) = greet(TlsPolicy::Require, offers);
    assert!(matches!(conversation.feed("454 not now\r\n").1, Ok(Event::SessionRefused(_))));
    assert!(matches!(greet(TlsPolicy::Require, PIPELINING).1.1, Ok(Event::SessionRefused(_))));
    assert_eq!(greet(TlsPolicy::Off, offers).1.1, Ok(Event::Ready));
}

#[test]
fn a_refused_session_is_distinguished_from_a_host_without_smtp() {
    let refused = |code, text: &str| Ok(Event::SessionRefused(Reply { code, text: text.as_bytes().into() }));
    let mut conversation = Conversation::new(message(true, TlsPolicy::Off));
    assert_eq!(conversation.feed("554 5.3.2 go away\r\n").1, refused(554, "5.3.2 go away"));
    let mut conversation = Conversation::greeted(true, PIPELINING);
    conversation.begin(&["p"]);
    assert_eq!(conversation.feed("250 a\r\n421 bye\r\n").1, refused(421, "bye"));
    let mut conversation = Conversation::new(message(true, TlsPolicy::Off));
    assert_eq!(conversation.feed("SSH-2.0-OpenSSH\r\n").1, Err(Fault::Malformed));
    assert_eq!(Conversation::greeted(true, PIPELINING).feed("250 more\r\n").1, Err(Fault::Unasked));
    assert_eq!(Conversation::greeted(true, PIPELINING).feed("421 idle\r\n").1, Ok(Event::Closed));
}

#[test]
fn an_old_host_is_greeted_with_helo() {
    let mut conversation = Conversation::new(message(true, TlsPolicy::Auto));
    conversation.go("220 old\r\n");
    assert_eq!(conversation.feed("500 what\r\n").0, "HELO me\r\n");
    assert_eq!(conversation.feed("250 hi\r\n").1, Ok(Event::Ready));
}

#[test]
fn a_client_logs_in_by_what_the_host_offers_and_only_in_private() {
    let message = |secret: &str, insecure| {
        let login = crate::login::Login::parse(&format!("user:{secret}"), "it", insecure).unwrap();
        Message { login: Some(login), ..message(true, TlsPolicy::Off) }
    };
    let greet = |message, ehlo| {
        let mut conversation = Conversation::new(message);
        conversation.go("220 mx\r\n");
        let result = conversation.feed(ehlo);
        (conversation, result)
    };
    let (mut conversation, (command, _)) =
        greet(message("pencil", true), "250-mx\r\n250 AUTH LOGIN PLAIN\r\n");
    assert_eq!(command, "AUTH PLAIN AHVzZXIAcGVuY2ls\r\n");
    assert_eq!(conversation.feed("235 2.7.0 in\r\n"), (String::new(), Ok(Event::Ready)));

    let (mut conversation, (command, _)) = greet(message("pencil", true), "250-mx\r\n250 AUTH LOGIN\r\n");
    assert_eq!(command, "AUTH LOGIN\r\n");
    assert_eq!(conversation.feed("334 VXNlcm5hbWU6\r\n").0, "dXNlcg==\r\n");
    assert_eq!(conversation.feed("334 UGFzc3dvcmQ6\r\n").0, "cGVuY2ls\r\n");
    // One challenge too many is cancelled.
    assert_eq!(conversation.feed("334 TW9yZTo=\r\n").0, "*\r\n");
    assert!(matches!(conversation.feed("501 5.7.0 no\r\n").1, Ok(Event::SessionRefused(r)) if r.code == 501));

    // Too long for a command line: the response waits for its challenge.
    let (mut conversation, (command, _)) =
        greet(message(&"x".repeat(400), true), "250-mx\r\n250 AUTH PLAIN\r\n");
    assert_eq!(command, "AUTH PLAIN\r\n");
    assert_eq!(conversation.feed("334 \r\n").0.len(), (6 + 400_usize).div_ceil(3) * 4 + 2);

    let (_, (command, event)) = greet(message("pencil", false), "250-mx\r\n250 AUTH PLAIN\r\n");
    assert!(command.is_empty() && matches!(event, Ok(Event::NoLogin(_))));
    let (_, (command, event)) = greet(message("pencil", true), "250-mx\r\n250 AUTH CRAM-MD5\r\n");
    assert!(command.is_empty() && matches!(event, Ok(Event::NoLogin(_))));
}
