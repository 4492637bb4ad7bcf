//! A script of SQL as pgbench plays it: the statements of one session, in their order.
//!
//! Of pgbench's own commands `\set` draws a number when a session begins and `\sleep` is a think time. The text becomes that of a
//! session: `:name` is its `{name}`.

use std::collections::HashMap;
use std::time::Duration;

use pitot_client::{DrawSpec, RequestSpec, SessionSpec, StepSpec, Url};

use super::format::Format;
use super::parsed::{Flaw, Parsed};

pub(super) const FORMAT: Format = Format {
    name: "sql",
    summary: "an SQL script for postgres://, as for pgbench: its statements are the steps of a session",
    holds_commands: true,
    looks_like,
    parse,
};

/// Words that begin a statement.
const BEGIN: &[&str] = &[
    "abort",
    "alter",
    "analyze",
    "begin",
    "call",
    "checkpoint",
    "close",
    "cluster",
    "comment",
    "commit",
    "copy",
    "create",
    "deallocate",
    "declare",
    "delete",
    "discard",
    "do",
    "drop",
    "end",
    "execute",
    "explain",
    "fetch",
    "grant",
    "insert",
    "listen",
    "lock",
    "merge",
    "notify",
    "prepare",
    "reassign",
    "refresh",
    "reindex",
    "release",
    "reset",
    "revoke",
    "rollback",
    "savepoint",
    "select",
    "set",
    "show",
    "start",
    "table",
    "truncate",
    "unlisten",
    "update",
    "vacuum",
    "values",
    "with",
];

const CURE_SET: &str =
    "write \\set aid random(1, 100000), \\set scale 10, or a product such as random(1, 100000 * :scale)";

/// Whether the first line except comments begins with a word of SQL or a pgbench command that no URL follows.
fn looks_like(beginning: &[u8]) -> bool {
    let text = String::from_utf8_lossy(beginning);
    let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let Some(first) = lines.find(|line| !line.is_empty() && !line.starts_with("--")) else { return false };
    if first.starts_with("/*") || first.starts_with('\\') {
        return true;
    }
    let end = first.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(first.len());
    let (word, rest) = first.split_at(end);
    let rest = rest.trim_start();
    BEGIN.iter().any(|known| word.eq_ignore_ascii_case(known))
        && !rest.starts_with('/')
        && !rest.split_whitespace().next().unwrap_or_default().contains("://")
}

fn parse(content: &[u8], _: &Url) -> Result<Parsed, Flaw> {
    let text =
        std::str::from_utf8(content).map_err(|_| Flaw::of_file("it is not text", "save it as UTF-8"))?;
    let mut script = Script { text, ..Script::default() };
    script.read()?;
    if script.steps.is_empty() {
        return Err(Flaw::of_file(
            "it contains no statements",
            "write SQL statements that end with semicolons",
        ));
    }
    let mut parsed = Parsed::default();
    parsed.positions.numbers = script.lines;
    parsed.sessions =
        vec![SessionSpec { name: String::new(), weight: 1.0, draws: script.draws, steps: script.steps }];
    Ok(parsed)
}

/// A script while it is read.
#[derive(Default)]
struct Script<'a> {
    text: &'a str,
    at: usize,
    draws: Vec<DrawSpec>,
    variables: HashMap<&'a str, Variable>,
    steps: Vec<StepSpec>,
    /// Where each step begins.
    lines: Vec<usize>,
    /// Where a transaction begins that is not ended yet.
    begun: Option<usize>,
}

/// What `\set` has made of a name.
enum Variable {
    Constant(i64),
    /// Drawn for each session, under that name.
    Drawn(String),
}

impl<'a> Script<'a> {
    fn read(&mut self) -> Result<(), Flaw> {
        loop {
            self.skip_blanks()?;
            match self.rest().chars().next() {
                None => break,
                Some('\\') => self.command()?,
                Some(';') => self.at += 1,
                Some(_) => self.statement()?,
            }
        }
        match self.begun {
            Some(line) => Err(Flaw::of_line(
                line,
                "the transaction that begins here is not ended",
                "end the script with COMMIT; or ROLLBACK;",
            )),
            None => Ok(()),
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn line(&self, at: usize) -> usize {
        self.text[..at].matches('\n').count() + 1
    }

    /// Blanks and comments.
    fn skip_blanks(&mut self) -> Result<(), Flaw> {
        loop {
            let rest = self.rest();
            self.at +=
                rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}').len();
            match self.comment()? {
                0 => return Ok(()),
                length => self.at += length,
            }
        }
    }

    /// The length of the comment that begins here; 0 if none does.
    fn comment(&self) -> Result<usize, Flaw> {
        let rest = self.rest();
        if rest.starts_with("--") {
            return Ok(rest.find('\n').unwrap_or(rest.len()));
        }
        if !rest.starts_with("/*") {
            return Ok(0);
        }
        // They may be nested.
        let (mut depth, mut at) = (0, 0);
        loop {
            let inner = &rest[at..];
            depth = match inner {
                _ if inner.starts_with("/*") => depth + 1,
                _ if inner.starts_with("*/") => depth - 1,
                _ => {
                    let Some(next) = inner.chars().next() else { return Err(self.open("comment", "*/")) };
                    at += next.len_utf8();
                    continue;
                }
            };
            at += 2;
            if depth == 0 {
                return Ok(at);
            }
        }
    }

    fn open(&self, what: &str, end: &str) -> Flaw {
        Flaw::of_line(self.line(self.at), format!("unterminated {what}"), format!("close it with {end}"))
    }

    /// The length of the quoted text that begins here; 0 if none does.
    fn quoted(&self) -> Result<usize, Flaw> {
        let rest = self.rest();
        let before = &self.text[..self.at];
        match rest.as_bytes().first() {
            Some(quote @ (b'\'' | b'"')) => {
                // E'...' has escapes, unless the letter ends a longer word.
                let word = before.len() - before.trim_end_matches(is_of_word).len();
                let escapes = *quote == b'\'' && word == 1 && before.ends_with(['e', 'E']);
                let mut bytes = rest.bytes().enumerate().skip(1);
                while let Some((at, byte)) = bytes.next() {
                    if byte == *quote {
                        return Ok(at + 1);
                    }
                    if escapes && byte == b'\\' {
                        bytes.next();
                    }
                }
                Err(self.open("quoted text", &char::from(*quote).to_string()))
            }
            Some(b'$') if !before.ends_with(is_of_word) => {
                let Some((name, _)) = rest[1..].split_once('$') else { return Ok(0) };
                if !name.chars().all(is_of_word) || name.starts_with(|c: char| c.is_ascii_digit()) {
                    return Ok(0);
                }
                let tag = &rest[..name.len() + 2];
                match rest[tag.len()..].find(tag) {
                    Some(at) => Ok(at + 2 * tag.len()),
                    None => Err(self.open("dollar-quoted text", tag)),
                }
            }
            _ => Ok(0),
        }
    }

    /// Takes a statement, up to its semicolon or the end of the script.
    fn statement(&mut self) -> Result<(), Flaw> {
        let from = self.at;
        let mut parentheses = 0u32;
        while let Some(next) = self.rest().chars().next() {
            let skipped = self.quoted()?.max(self.comment()?);
            if skipped > 0 {
                self.at += skipped;
                continue;
            }
            match next {
                '(' => parentheses += 1,
                ')' => parentheses = parentheses.saturating_sub(1),
                ';' if parentheses == 0 => break,
                '\\' => {
                    return Err(Flaw::of_line(
                        self.line(self.at),
                        format!("`{}` is inside a statement", first_word(self.rest())),
                        "end the statement before it with a semicolon; \\gset and the like are not supported",
                    ));
                }
                _ => {}
            }
            self.at += next.len_utf8();
        }
        let (text, line) = (self.text[from..self.at].trim_end(), self.line(from));
        self.at = self.text.len().min(self.at + 1);
        self.follow_transaction(text, line);
        self.steps.push(StepSpec {
            name: format!("line {line}"),
            request: RequestSpec { body: self.template(text).into_bytes(), ..RequestSpec::default() },
            ..StepSpec::default()
        });
        self.lines.push(line);
        Ok(())
    }

    fn follow_transaction(&mut self, statement: &str, line: usize) {
        let mut words = statement.split(|c| !is_of_word(c)).filter(|word| !word.is_empty());
        let mut word = || words.next().unwrap_or_default().to_ascii_uppercase();
        match (&*word(), &*word()) {
            ("BEGIN", _) | ("START", "TRANSACTION") => self.begun = Some(line),
            ("ROLLBACK", "TO") => {}
            ("COMMIT" | "END" | "ROLLBACK" | "ABORT", _) | ("PREPARE", "TRANSACTION") => self.begun = None,
            _ => {}
        }
    }

    /// The text of a statement as that of a step: variables are values, and other braces are text.
    fn template(&self, statement: &str) -> String {
        let mut out = String::with_capacity(statement.len());
        let mut rest = statement;
        while let Some(at) = rest.find([':', '{']) {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(behind) = rest.strip_prefix(':') {
                // A cast has two.
                let colons = rest.len() - behind.trim_start_matches(':').len();
                let name = &behind[..behind.find(|c| !is_of_word(c)).unwrap_or(behind.len())];
                let (text, length) = match self.variables.get(name).filter(|_| colons == 1) {
                    Some(Variable::Constant(number)) => (number.to_string(), 1 + name.len()),
                    Some(Variable::Drawn(name_of_draw)) => (format!("{{{name_of_draw}}}"), 1 + name.len()),
                    None => (rest[..colons].to_owned(), colons),
                };
                out.push_str(&text);
                rest = &rest[length..];
            } else {
                let name = rest[1..].split_once('}').map_or("", |(name, _)| name);
                let is_name =
                    !name.is_empty() && name.chars().all(|c| is_of_word(c) || c == '-') && name != "session";
                let (text, length) =
                    if is_name { (format!("{{{{{name}}}}}"), name.len() + 2) } else { ("{".to_owned(), 1) };
                out.push_str(&text);
                rest = &rest[length..];
            }
        }
        out.push_str(rest);
        out
    }

    /// Takes a pgbench command, which is a line.
    fn command(&mut self) -> Result<(), Flaw> {
        let number = self.line(self.at);
        let line = self.rest().lines().next().unwrap_or_default();
        self.at += line.len();
        let words = line.trim().trim_end_matches(';');
        let (command, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        match command {
            "\\set" => self.set(rest.trim()).map_err(|(what, fix)| Flaw::of_line(number, what, fix)),
            "\\sleep" => {
                let pause = pause(rest).ok_or_else(|| {
                    Flaw::of_line(
                        number,
                        format!("`{words}` is not a pause"),
                        "write \\sleep 10 ms; other units are us and s",
                    )
                })?;
                let Some(last) = self.steps.last_mut() else {
                    return Err(Flaw::of_line(
                        number,
                        "a pause must follow a statement",
                        "move it to the end of the script: the next session begins after it",
                    ));
                };
                last.think += pause;
                Ok(())
            }
            other => Err(Flaw::of_line(
                number,
                format!("`{other}` is not supported"),
                "use only SQL, \\set NAME random(1, N) and \\sleep N ms",
            )),
        }
    }

    fn set(&mut self, text: &'a str) -> Result<(), (String, String)> {
        let wrong = |what: String| (what, CURE_SET.to_owned());
        let (name, value) = text
            .split_once(char::is_whitespace)
            .ok_or_else(|| wrong(format!("`\\set {text}` needs a name and a value")))?;
        if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || !name.chars().all(is_of_word) {
            return Err(wrong(format!("`{name}` is not a name of letters, digits and _")));
        }
        let value = value.trim();
        let Some((function, arguments)) = value.strip_suffix(')').and_then(|call| call.split_once('('))
        else {
            let constant = self.product(value)?;
            self.variables.insert(name, Variable::Constant(constant));
            return Ok(());
        };
        if function.trim() != "random" {
            return Err(wrong(format!(
                "`{}` is not supported: use the uniform random(1, N)",
                function.trim()
            )));
        }
        let (first, last) = arguments
            .split_once(',')
            .ok_or_else(|| wrong(format!("`{value}` is not a range: write random(1, N)")))?;
        let (first, last) = (self.product(first)?, self.product(last)?);
        if first > last {
            return Err(wrong(format!("`{value}` is an empty range")));
        }
        // A name that is set again is another number behind that.
        let name_of_draw = format!("{name}-{}", self.draws.len());
        self.draws.push(DrawSpec { name: name_of_draw.clone(), first, last });
        self.variables.insert(name, Variable::Drawn(name_of_draw));
        Ok(())
    }

    /// A product of numbers and of variables that are such.
    fn product(&self, text: &str) -> Result<i64, (String, String)> {
        let wrong = |what: String| (what, CURE_SET.to_owned());
        let factor = |factor: &str| match factor.trim().strip_prefix(':') {
            Some(name) => match self.variables.get(name) {
                Some(Variable::Constant(number)) => Ok(*number),
                Some(Variable::Drawn(_)) => {
                    Err(wrong(format!("`:{name}` is random, and cannot be used in expressions")))
                }
                None if !name.chars().all(is_of_word) => Err(wrong(format!("`:{name}` is not a number"))),
                None => Err((
                    format!("`:{name}` has no value"),
                    format!("write \\set {name} 1, or another number, on an earlier line"),
                )),
            },
            None => {
                let number = factor.trim();
                number.parse().map_err(|_| wrong(format!("`{number}` is not a whole number")))
            }
        };
        let mut product = 1i64;
        for text in text.split('*') {
            product = product
                .checked_mul(factor(text)?)
                .ok_or_else(|| wrong(format!("`{}` is beyond 64 bits", text.trim())))?;
        }
        Ok(product)
    }
}

/// Whether a letter can be one of a name.
fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// `10 ms`, `500us`, or `2` seconds.
fn pause(text: &str) -> Option<Duration> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let number = number.parse().ok()?;
    match unit.trim() {
        "us" => Some(Duration::from_micros(number)),
        "ms" => Some(Duration::from_millis(number)),
        "s" | "" => Some(Duration::from_secs(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn script(text: &str) -> Result<SessionSpec, Flaw> {
        let parsed = parse(text.as_bytes(), &Url::parse("postgres://h/").unwrap())?;
        Ok(parsed.sessions.into_iter().next().unwrap())
    }

    fn statements(text: &str) -> Vec<String> {
        let steps = script(text).unwrap_or_else(|flaw| panic!("{text}: {flaw:?}")).steps;
        steps.into_iter().map(|step| String::from_utf8(step.request.body).unwrap()).collect()
    }

    /// The script of `pgbench` without options (`pgbench --show-script=tpcb-like`), with a scale.
    const TPCB: &str = "\\set scale 10\n\\set aid random(1, 100000 * :scale)\n\\set delta random(-5000, 5000)\nBEGIN;\n\
        UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n\
        SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\nEND;\n";

    #[test]
    fn the_script_of_pgbench_is_read() {
        let session = script(TPCB).unwrap();
        let draw = |name: &str, first, last| DrawSpec { name: name.into(), first, last };
        assert_eq!(session.draws, [draw("aid-0", 1, 1_000_000), draw("delta-1", -5000, 5000)]);
        let names: Vec<&str> = session.steps.iter().map(|step| &*step.name).collect();
        assert_eq!(names, ["line 4", "line 5", "line 6", "line 7"]);
        assert_eq!(
            statements(TPCB)[1],
            "UPDATE pgbench_accounts SET abalance = abalance + {delta-1} WHERE aid = {aid-0}"
        );
    }

    #[test]
    fn statements_end_where_the_server_would_see_their_end() {
        assert_eq!(
            statements(
                "-- a; comment\n/* nested /* ; */ ; */ SELECT ';', E'\\';', \"a;b\" ;;\nDO $x$ BEGIN; END $x$;\
                 SELECT $$;$$ -- last;\n, (SELECT 1;)\n"
            ),
            ["SELECT ';', E'\\';', \"a;b\"", "DO $x$ BEGIN; END $x$", "SELECT $$;$$ -- last;\n, (SELECT 1;)"]
        );
        // A dollar that opens no quotes, before anything.
        assert_eq!(
            statements("SELECT $1, $é;$\u{feff};$é$;$é$, a$b;$"),
            ["SELECT $1, $é", "$\u{feff}", "$é$;$é$, a$b", "$"]
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(\\PC|[-$'\"*/\\\\:;{}()eE\\u{feff}\n]){0,40}") {
            if let Ok(session) = script(&text) {
                prop_assert!(!session.steps.is_empty());
            }
        }
    }

    #[test]
    fn variables_are_values_and_other_colons_and_braces_are_text() {
        let text = "\\set n 7\n\\set x random(1, 2)\nSELECT :x, ':n', :n::int, 12:30, :other, '{a}', '{{b},{c}}', {rand:1..2}, \
                    {session};\n\\set x random(3, 4)\nSELECT :x";
        assert_eq!(
            statements(text),
            [
                "SELECT {x-0}, '7', 7::int, 12:30, :other, '{{a}}', '{{{b}},{{c}}}', {rand:1..2}, {session}",
                "SELECT {x-1}"
            ]
        );
    }

    #[test]
    fn a_pause_follows_its_statement() {
        let think = |text: &str| script(text).unwrap().steps[0].think;
        assert_eq!(think("SELECT 1;\n\\sleep 10 ms\nSELECT 2;"), Duration::from_millis(10));
        assert_eq!(think("SELECT 1;\n\\sleep 2\n"), Duration::from_secs(2));
    }

    #[test]
    fn what_is_not_understood_is_named_by_its_line() {
        for (text, line, word) in [
            ("SELECT 1;\n\n\\if 1\nSELECT 2;", 3, "\\if"),
            ("SELECT 1 \\gset\n", 1, "semicolon"),
            ("\\set x random_zipfian(1, 2, 1.5)\nSELECT 1;", 1, "random_zipfian"),
            ("\\set x random(1, :scale)\nSELECT 1;", 1, "\\set scale 1"),
            ("\\set x random(2, 1)\nSELECT 1;", 1, "empty range"),
            ("\\set x :x + 1\nSELECT 1;", 1, "product"),
            ("\\set x\nSELECT 1;", 1, "needs a name and a value"),
            ("\\sleep 1\nSELECT 1;", 1, "follow"),
            ("SELECT 1;\n\\sleep soon", 2, "not a pause"),
            ("SELECT 1;\nSELECT 'a;\n", 2, "unterminated"),
            ("SELECT 1;\n/* a;\n", 2, "unterminated"),
            ("\nBEGIN;\nSELECT 1;", 2, "COMMIT"),
        ] {
            let flaw = script(text).unwrap_err();
            assert_eq!(flaw.line, Some(line), "{text}: {flaw:?}");
            assert!(format!("{} {}", flaw.what, flaw.fix).contains(word), "{text}: {flaw:?}");
        }
        assert_eq!(script("-- nothing\n").unwrap_err().line, None);
    }
}
