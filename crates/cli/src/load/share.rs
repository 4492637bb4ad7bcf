//! How a part of a load (`--share`) agrees with the others on its start.

use std::io;

use pitot_meter::Nanos;

use crate::output::print_line;

/// Says that all is ready, and reads when to start, on the clock of this machine; at once if that has passed. `None` if
/// standard input ends without saying so.
pub(super) fn agreed_start(earliest: Nanos) -> Option<Nanos> {
    print_line("ready");
    let mut line = String::new();
    loop {
        line.clear();
        if io::stdin().read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(at) = moment(&line) {
            return Some(Nanos(at.0.max(earliest.0)));
        }
    }
}

/// The moment of `start NS`.
fn moment(line: &str) -> Option<Nanos> {
    line.trim().strip_prefix("start ")?.trim().parse().ok().map(Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_a_line() {
        assert_eq!(moment("start 12\n"), Some(Nanos(12)));
        for other in ["", "start", "start now", "stop 12"] {
            assert_eq!(moment(other), None, "{other}");
        }
    }
}
