//! What the load must have counted, given what the server did.

use std::ops::RangeInclusive;

use serde_json::Value;

use super::Way;
use super::ledger::Sum;

/// What the load has counted.
#[derive(Debug, Default)]
pub struct Seen {
    attempted: u64,
    /// Right replies, in time or late.
    right: u64,
    refused: u64,
    closed: u64,
    truncated: u64,
    /// By the kernel: ECONNRESET, or EPIPE where something was sent after that.
    reset: u64,
    timed_out: u64,
    /// Whatever else; there is nothing else.
    others: Vec<String>,
    opened: u64,
    connects_failed: u64,
}

impl Seen {
    pub fn of(result: &Value) -> Seen {
        let count =
            |path: &str| result.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {path}"));
        let mut seen = Seen {
            attempted: count("/requests/attempted"),
            right: count("/requests/ok"),
            opened: count("/connections/opened"),
            ..Seen::default()
        };
        assert_eq!(count("/requests/cut"), 0, "requests were cut off at the end");
        for row in result["errors"].as_array().unwrap() {
            let count = row["count"].as_u64().unwrap();
            let (phase, kind) = (row["phase"].as_str().unwrap(), row["kind"].as_str().unwrap());
            if phase == "connect" {
                seen.connects_failed += count;
            }
            *match (phase, kind) {
                ("content", "status-503") => &mut seen.refused,
                ("receive", "closed") => &mut seen.closed,
                ("receive", "truncated") => &mut seen.truncated,
                ("connect" | "send" | "receive", "ECONNRESET" | "EPIPE") => &mut seen.reset,
                ("timeout", "reply") => &mut seen.timed_out,
                ("timeout", "late") => &mut seen.right,
                _ => {
                    seen.others.push(row.to_string());
                    continue;
                }
            } += count;
        }
        println!("    of {} requests on {} connections", seen.attempted, seen.opened);
        seen
    }

    /// Connections that ended with an error.
    fn lost(&self) -> u64 {
        self.closed + self.truncated + self.reset + self.timed_out
    }
}

/// Collects what does not agree, and shows all of it.
#[derive(Default)]
struct Account {
    wrong: Vec<String>,
}

impl Account {
    /// The load has counted what the server knows, and at most so many more that the server cannot know of.
    fn is(&mut self, what: &str, load: u64, server: RangeInclusive<u64>) {
        let (least, most) = server.clone().into_inner();
        let known = if least == most { least.to_string() } else { format!("{least} to {most}") };
        println!("    {what:<44} load {load:>9}   server {known}");
        if !server.contains(&load) {
            self.wrong.push(format!("{what}: the load counted {load}, the server {known}"));
        }
    }
}

/// A server without anything between, which was killed so many times.
pub fn without_a_way(engine: &str, seen: &Seen, server: &Sum, kills: u64) {
    let s = server;
    println!("{engine}, a server that is killed and started again:");
    let mut account = Account::default();
    // What was sent is in the client's socket, so that a server's death takes nothing of it back.
    account.is("right replies", seen.right, s.replied..=s.replied + s.killed_replying);
    account.is("status 503", seen.refused, s.refused..=s.refused + s.killed_refusing);
    account.is("replies cut short", seen.truncated, s.cut..=s.cut + s.killed_cutting);
    // A process that dies ends its connections in order if it had read all, and else with a reset.
    let in_doubt = s.killed_replying + s.killed_refusing + s.killed_cutting + s.killed_resetting;
    let unlogged = seen.opened.saturating_sub(s.accepted);
    let either = in_doubt + s.killed_idle + unlogged;
    let closed = s.closed + s.killed_at_work;
    account.is("closed before a reply", seen.closed, closed..=closed + either);
    account.is("reset", seen.reset, s.reset..=s.reset + either);
    // Each kill may come between a connection and the word of it.
    account.is("connections", seen.opened, s.accepted..=s.accepted + kills);
    // Each connection ends once: what the load did not lose it closed at the end.
    let ends = closed + s.cut + s.reset + s.ended_by_client + either;
    account.is("ends of connections", seen.opened, ends..=ends);
    account.is("closed by the load at the end", seen.opened - seen.lost(), 0..=super::CONNECTIONS);
    account.is("timeouts", seen.timed_out, 0..=0);
    finish(account, seen, server);
}

/// A server behind a way on which connections are reset, or held up for longer than the load's timeout.
pub fn with_a_way(engine: &str, seen: &Seen, server: &Sum, way: &Way) {
    let s = server;
    println!("{engine}, resets and black holes on the way:");
    let mut account = Account::default();
    // One that is reset before the load has looked at it is to the load a connect that failed.
    let connections = seen.opened + seen.connects_failed;
    account.is("connections", connections, way.accepted..=way.accepted);
    account.is("connections that reached the server", way.accepted - way.refused, s.accepted..=s.accepted);
    // A reply that was sent whole, and after which the connection was reset or given up, may or may not have been read.
    account.is("right replies", seen.right, s.replied - s.replied_last..=s.replied);
    account.is("status 503", seen.refused, s.refused - s.refused_last..=s.refused);
    account.is("closed before a reply", seen.closed, s.closed - s.closed_unseen..=s.closed);
    account.is("replies cut short", seen.truncated, s.cut - s.cut_unseen..=s.cut);
    let unseen = s.closed_unseen + s.cut_unseen + s.reset_unseen;
    let reset = s.reset + way.reset + way.refused;
    account.is("reset, by the server or on the way", seen.reset, reset - unseen..=reset);
    // Each connection ends once: what the load did not lose or give up it closed at the end.
    let ends = s.closed + s.cut + s.reset + s.ended_by_client + way.refused;
    account.is("ends of connections", connections, ends..=ends);
    account.is("closed by the load at the end", connections - seen.lost(), 0..=super::CONNECTIONS);
    finish(account, seen, server);
}

fn finish(account: Account, seen: &Seen, server: &Sum) {
    assert!(seen.others.is_empty(), "{:?}", seen.others);
    assert!(account.wrong.is_empty(), "{:#?}\n{seen:#?}\n{server:#?}", account.wrong);
    let all = [seen.right, seen.refused, seen.closed, seen.truncated, seen.reset];
    assert!(all.iter().all(|count| *count > 0), "{seen:#?}");
    // A connect may fail before a request waits for its connection, on a machine that is slow to start the load.
    let ended = seen.right + seen.refused + seen.lost();
    let with_a_request = ended - seen.connects_failed..=ended;
    assert!(with_a_request.contains(&seen.attempted), "{seen:#?}");
}
