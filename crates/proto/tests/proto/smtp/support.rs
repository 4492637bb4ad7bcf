//! What the tests of `smtp` share.

use std::net::IpAddr;

use pitot_proto::smtp::{Smtp, SmtpOptions};
use pitot_proto_harness::{Files, Pump};

/// No files: this protocol serves none.
pub(crate) static NO_FILES: std::sync::LazyLock<Files> = std::sync::LazyLock::new(Files::new);

/// A server that counts messages and forgets them.
pub(crate) fn sink() -> Smtp {
    Smtp::new(&SmtpOptions::default()).unwrap()
}

/// Options of a server that stores messages.
pub(crate) fn storing() -> SmtpOptions {
    SmtpOptions { name: "mx.test".into(), store: true, ..SmtpOptions::default() }
}

/// A server that stores messages.
pub(crate) fn store() -> Smtp {
    Smtp::new(&storing()).unwrap()
}

/// A connection, the greeting of which has been read.
pub(crate) fn connect(server: &Smtp) -> Pump<'static> {
    connect_from(server, None)
}

/// A connection with a peer of that address, past its greeting.
pub(crate) fn connect_from(server: &Smtp, peer: Option<IpAddr>) -> Pump<'static> {
    let mut pump = Pump::with_peer(server, &NO_FILES, peer);
    assert!(answers(&mut pump, "").starts_with("220 "));
    pump
}

/// What comes back for `input`.
pub(crate) fn answers(pump: &mut Pump<'_>, input: impl AsRef<[u8]>) -> String {
    pump.feed(input.as_ref());
    String::from_utf8(std::mem::take(&mut pump.sent)).unwrap()
}

/// The codes of the replies to `input`, with a blank between each; of replies of several lines, the last line's.
pub(crate) fn codes(pump: &mut Pump<'_>, input: impl AsRef<[u8]>) -> String {
    let replies = answers(pump, input);
    assert!(replies.is_empty() || replies.ends_with("\r\n"), "{replies:?}");
    let last_lines = replies.lines().filter(|line| line.as_bytes().get(3) == Some(&b' '));
    last_lines.map(|line| &line[..3]).collect::<Vec<_>>().join(" ")
}

/// A connection on which a transaction has come as far as the message.
pub(crate) fn in_message(server: &Smtp) -> Pump<'static> {
    let mut pump = connect(server);
    let said = "EHLO client.test\r\nMAIL FROM:<from@a.test>\r\nRCPT TO:<to@b.test>\r\nDATA\r\n";
    assert_eq!(codes(&mut pump, said), "250 250 250 354");
    pump
}
