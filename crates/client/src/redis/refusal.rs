/// The longest line of a reply; errors may be long.
pub(super) const LINE_BYTES_MAX: usize = 1024;

/// The names of errors, by the first word of the message. Others are `error`.
const NAMES: &[(&str, &str)] = &[
    ("ASK", "ask"),
    ("BUSY", "busy"),
    ("CLUSTERDOWN", "clusterdown"),
    ("CROSSSLOT", "crossslot"),
    ("EXECABORT", "execabort"),
    ("LOADING", "loading"),
    ("MASTERDOWN", "masterdown"),
    ("MISCONF", "misconf"),
    ("MOVED", "moved"),
    ("NOAUTH", "noauth"),
    ("NOPERM", "noperm"),
    ("NOREPLICAS", "noreplicas"),
    ("NOSCRIPT", "noscript"),
    ("OOM", "oom"),
    ("READONLY", "readonly"),
    ("TRYAGAIN", "tryagain"),
    ("WRONGPASS", "wrongpass"),
    ("WRONGTYPE", "wrongtype"),
];

pub(super) fn name(said: &[u8]) -> &'static str {
    let word = said.split(|&b| b == b' ').next().unwrap_or_default();
    NAMES.iter().find(|(code, _)| code.as_bytes() == word).map_or("error", |(_, name)| name)
}
