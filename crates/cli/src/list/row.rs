use pitot_sys::Unavailable;
use serde_json::{Value, json};

/// An entry of a list, for people and for programs.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) json: Value,
}

impl Row {
    /// An entry for something that is not on every machine: says whether it is, and if not, why and what would enable it.
    pub(super) fn probed(self, unavailable: Option<&Unavailable>) -> Row {
        let Row { name, mut text, mut json } = self;
        if let Some(unavailable) = unavailable {
            text += "\n    ";
            text += &unavailable_text(unavailable);
        }
        json["available"] = json!(unavailable.is_none());
        json["cause"] = json!(unavailable.map(|u| &u.cause));
        json["fix"] = json!(unavailable.map(|u| &u.fix));
        Row { name, text, json }
    }
}

/// Why something cannot be used on this machine, and what would enable it.
pub(super) fn unavailable_text(unavailable: &Unavailable) -> String {
    format!("unavailable: {}; to enable it: {}", unavailable.cause, unavailable.fix)
}
