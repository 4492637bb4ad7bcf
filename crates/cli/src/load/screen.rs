//! The terminal that a live view is drawn on.

use std::io::{self, IsTerminal as _};

use pitot_load::output::{Live, Screen};

/// The columns and rows of a terminal that does not say how many it has.
const SIZE: (u16, u16) = (80, 24);

/// A view for standard error, if that is a terminal.
pub(super) fn live() -> Option<Live> {
    if !io::stderr().is_terminal() {
        return None;
    }
    let (width, height) = pitot_sys::terminal::size(io::stderr()).unwrap_or(SIZE);
    // The first of these that is set decides (locale(7)).
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let locale = names.iter().filter_map(|name| std::env::var(name).ok()).find(|value| !value.is_empty());
    let unicode = locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    Some(Live::new(Screen { width: width.into(), height: height.into(), unicode }))
}
