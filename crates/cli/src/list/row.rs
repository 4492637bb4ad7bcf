use pitot_sys::Unavailable;
use serde_json::Value;

/// An entry of a list, for people and for programs.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) json: Value,
}

/// Why something cannot be used on this machine, and what would enable it.
pub(super) fn unavailable_text(unavailable: &Unavailable) -> String {
    format!("unavailable: {}; to enable it: {}", unavailable.cause, unavailable.fix)
}
