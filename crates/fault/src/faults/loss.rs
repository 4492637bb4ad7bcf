//! Drops packets between load and server.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::process::{Command, Stdio};

use pitot_meter::now;
use pitot_sys::Unavailable;

use crate::entry::{Aim, Begun, Fault, Means};
use crate::options::Options;
use crate::undo::{Note, Undo};

pub(super) static FAULT: Fault = Fault {
    name: "loss",
    summary: "Drop a share of the packets to and from the server's address, with an nftables rule.",
    doc: "Packets of TCP connections with the server are dropped at random when they arrive, in both directions. TCP retransmits them after \
          at least 200 ms, or earlier if later packets arrive (RFC 6298, RFC 8985), so some replies are late. The rule is in a \
          separate table, which is removed afterwards.",
    aim: Aim::Address,
    takes: &["share"],
    lasts_s: 1.0,
    is_moment: false,
    may_end_server: false,
    can_silence: true,
    speaks_http: false,
    probe,
    means: Means::Program { begin, undo },
};

/// Prefix of the tables' names, followed by the id of the process that created them.
const TABLE: &str = "pitot_loss_";
/// Range of the random numbers.
const DRAWS: u32 = 100_000;

fn probe() -> Result<(), Unavailable> {
    let missing =
        |cause: String, fix: &str| Unavailable { what: "packet loss".into(), cause, fix: fix.into() };
    let table = format!("{TABLE}{}_probe", std::process::id());
    let trial = run(&format!(
        "{}delete table inet {table}\n",
        rules(&table, SocketAddr::from(([127, 0, 0, 1], 1)), 1)
    ));
    trial.map_err(|why| match why {
        Refused::NotInstalled => missing("nft(8) is not installed".into(), "apt-get install nftables"),
        Refused::Said(said) => missing(
            format!("nft(8) says: {said}"),
            "run as root, or in a new network namespace: unshare --user --map-root-user --net",
        ),
    })
}

fn begin(options: &Options, undo: &mut Undo) -> Result<Begun, String> {
    let to = options.to.ok_or("the server's address is unknown")?;
    // A unique name, in case this table is left.
    let table = format!("{TABLE}{}_{:x}", std::process::id(), now().0);
    let on = format!("table inet {table} of nftables");
    undo.note(vec![Note { is_of_network: true, ..Note::new(on, table.clone()) }])?;
    let chances = (options.share * f64::from(DRAWS)).round() as u32;
    run(&rules(&table, to, chances)).map_err(|why| match why {
        Refused::NotInstalled => "nft(8) is not installed: apt-get install nftables".to_owned(),
        Refused::Said(said) => format!("nft(8) says: {said}"),
    })?;
    Ok(Begun::done(format!("{} of the packets to and from {to} are dropped", percent(options.share))))
}

fn undo(table: &str) -> Result<bool, String> {
    if !table.starts_with(TABLE) {
        return Err(format!("`{table}` is not a table of this fault"));
    }
    match run(&format!("delete table inet {table}\n")) {
        Ok(()) => Ok(true),
        Err(Refused::Said(said)) if said.contains("No such file") => Ok(false),
        Err(Refused::Said(said)) => Err(format!("nft(8) says: {said}")),
        Err(Refused::NotInstalled) => Err("nft(8) is not installed: apt-get install nftables".to_owned()),
    }
}

fn percent(share: f64) -> String {
    format!("{}%", (share * 1e5).round() / 1e3)
}

/// A table that drops packets of the connections with an address (nft(8), numgen expression).
fn rules(table: &str, to: SocketAddr, chances: u32) -> String {
    let (family, address, port) = match to.ip() {
        IpAddr::V4(ip) => ("ip", ip.to_string(), to.port()),
        IpAddr::V6(ip) => ("ip6", ip.to_string(), to.port()),
    };
    // nft(8) does not accept a limit equal to the range.
    let drop = match chances < DRAWS {
        true => format!("numgen random mod {DRAWS} < {chances} drop"),
        false => "drop".to_owned(),
    };
    format!(
        "table inet {table} {{\n chain received {{\n  type filter hook input priority 0; policy accept;\n  \
         {family} daddr {address} tcp dport {port} {drop}\n  {family} saddr {address} tcp sport {port} {drop}\n }}\n}}\n"
    )
}

enum Refused {
    NotInstalled,
    Said(String),
}

/// Runs commands of nft(8) in one transaction.
fn run(commands: &str) -> Result<(), Refused> {
    let said = |e: std::io::Error| Refused::Said(e.to_string());
    // Debian's PATH for users does not have the directory of daemons.
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let mut child = Command::new("nft")
        .args(["-f", "-"])
        .env("PATH", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => Refused::NotInstalled,
            _ => said(e),
        })?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(commands.as_bytes()).map_err(said)?;
    }
    let output = child.wait_with_output().map_err(said)?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.contains("Error")).or_else(|| text.lines().next());
    Err(Refused::Said(line.unwrap_or("nothing").trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_meet_both_directions_of_one_address_alone() {
        let rules = rules("t", "127.0.0.1:8080".parse().unwrap(), 2_500);
        assert!(
            rules.contains("ip daddr 127.0.0.1 tcp dport 8080 numgen random mod 100000 < 2500 drop\n"),
            "{rules}"
        );
        assert!(
            rules.contains("ip saddr 127.0.0.1 tcp sport 8080 numgen random mod 100000 < 2500 drop\n"),
            "{rules}"
        );
        assert!(super::rules("t", "[::1]:80".parse().unwrap(), 1).contains("ip6 daddr ::1 tcp dport 80 "));
    }

    #[test]
    fn shares_are_shown_as_they_are_written() {
        assert_eq!([0.01, 0.025, 0.00001, 1.0].map(percent), ["1%", "2.5%", "0.001%", "100%"]);
    }
}
