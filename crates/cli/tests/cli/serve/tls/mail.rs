//! STARTTLS of the mail server, against `pitot mail` and swaks.

use std::fs;
use std::process::Command;

use pitot_needs::needs;

use super::client::Certificate;
use crate::serve::pairs::{Cell, Pair, on_covering_pairs};
use crate::support::{PITOT, stdout};

#[test]
fn pitot_mail_sends_in_private_where_that_is_required() {
    let certificate = Certificate::new();
    on_covering_pairs(Cell::Works, |pair| {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name).to_str().expect("UTF-8").to_owned();
        fs::write(path("list"), "a@x.test\nb@x.test\nc@x.test\n").expect("a file");
        fs::write(path("message"), "Subject: hello\n\nhi\n").expect("a file");
        let server = certificate.serve(pair, "smtp", &[]);
        let relay = format!("localhost:{}", server.addr.port());
        let mut mail = Command::new(PITOT);
        mail.args(["mail", "--really-send", "--from", "s@y.test", "--list", &path("list"), "--message"]);
        mail.args([&path("message"), "--relay", &relay, "--tls", "require", "--tls-ca", &certificate.file()]);
        let output = mail.args(["-c", "2"]).output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        let ended = server.stop();
        assert_eq!(ended.count("/mail/recipients"), 3);
        assert!(ended.count("/tls/handshakes") >= 1, "{}", ended.stats);
        ended.check_connections();
    });
}

#[needs("net-ssleay", "swaks")]
#[test]
fn swaks_delivers_over_tls() {
    let certificate = Certificate::new();
    let maildir = tempfile::tempdir().expect("a directory");
    let deliver = ["--deliver", "maildir", maildir.path().to_str().expect("UTF-8")];
    let server = certificate.serve(&Pair::named("loop", "epoll-et"), "smtp", &deliver);
    let mut swaks = Command::new("swaks");
    swaks.args(["--server", &server.addr.to_string(), "--to", "a@b.test", "--from", "c@d.test", "--tls"]);
    swaks.args(["--tls-verify", "--tls-ca-path", &certificate.file()]);
    let output = swaks.output().expect("swaks runs");
    let said = stdout(&output);
    assert!(
        output.status.success() && said.contains("TLS started") && said.contains("STARTTLS"),
        "{output:?}"
    );
    let ended = server.stop();
    assert_eq!((ended.count("/mail/messages"), ended.count("/tls/handshakes")), (1, 1));
    let stored = fs::read_dir(maildir.path().join("new")).expect("a Maildir").next().expect("a message");
    let stored = fs::read_to_string(stored.expect("an entry").path()).expect("text");
    assert!(stored.contains(" with ESMTPS;"), "{stored}");
}
