//! Wrong use: one line on what is wrong, one on how to fix it.

use std::process::Command;

use crate::support::PITOT;

#[test]
fn what_cannot_be_is_refused_with_a_fix() {
    let cases: [(&[&str], &str); 9] = [
        (&["trade", "--users", "0"], "must be 1 or more"),
        (&["trade", "--database", "mysql://x"], "postgres://"),
        (&["trade", "--isolation", "read-committed"], "SQLite"),
        (&["trade", "--with-postgres", "--database", "sqlite:x"], "--database"),
        (&["trade", "--audit"], "--database"),
        (&["trade", "--audit", "--database", "sqlite:/nonexistent/x"], "does not exist"),
        (&["trade", "--database", "sqlite:/nonexistent/x"], "cannot use /nonexistent/x"),
        (&["trade", "--model", "loop"], "trade"),
        (&["http", "--with-postgres"], "trade"),
    ];
    for (words, said) in cases {
        let output = Command::new(PITOT).arg("serve").args(words).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {text}");
        assert!(text.contains(said), "{words:?}: {text}");
    }
}

#[test]
fn a_missing_postgresql_and_one_that_is_not_there_are_said() {
    let serve = |words: &[&str]| {
        let mut command = Command::new(PITOT);
        let output = command.args(["serve", "trade"]).args(words).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, text) = serve(&["--database", "postgres://nobody@127.0.0.1:1/none"]);
    assert!(code == Some(2) && text.contains("--with-postgres"), "{text}");
}
