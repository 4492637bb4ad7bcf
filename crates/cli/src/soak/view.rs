//! What the user sees while a soak runs: a line for each load that is drawn anew on a terminal, and what happens.

use std::io::{IsTerminal, Write};

use pitot_meter::units::{self, grouped};
use pitot_results::stderr;
use pitot_soak::run::{LoadStatus, Status};

pub(super) struct View {
    is_terminal: bool,
    /// Lines that stand there and are to be drawn over.
    drawn: usize,
}

impl View {
    pub(super) fn new(title: &str) -> View {
        stderr::line(title);
        View { is_terminal: std::io::stderr().is_terminal(), drawn: 0 }
    }

    pub(super) fn show(&mut self, status: &Status) {
        let mut text = String::new();
        if self.drawn > 0 {
            text.push_str(&format!("\x1b[{}A\x1b[J", self.drawn));
        }
        for sentence in &status.events {
            text.push_str(&format!("{:>9}  {sentence}\n", units::span(status.now_s)));
        }
        if self.is_terminal {
            text.push_str(&format!("{} of load left\n", units::span(status.left_s)));
            for LoadStatus { name, rate, p99_ns, errors } in &status.loads {
                let p99_ms = *p99_ns as f64 / 1e6;
                let errors = grouped(*errors);
                text.push_str(&format!(
                    "  {rate:>10.1} a second  p99 {p99_ms:>8.3} ms  {errors} errors  {name}\n"
                ));
            }
            self.drawn = status.loads.len() + 1;
        }
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}
