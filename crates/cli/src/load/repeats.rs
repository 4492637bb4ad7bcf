use serde_json::Value;

/// What a repetition keeps of the run that it repeats.
#[derive(Debug)]
pub(super) struct Repeats {
    /// The command line that it stands for.
    pub(super) words: Vec<String>,
    /// The digest of the body, if there was one.
    pub(super) body: Option<String>,
    /// That of the file of requests, if there was one.
    pub(super) requests: Option<String>,
    pub(super) file: String,
}

impl Repeats {
    /// One line if the body, or the file of requests, is another one than that of the run before, as it may be if it
    /// comes from a file. `requests_from` says where the requests of this run come from.
    pub(super) fn notice(&self, body: &Value, requests_from: &Value) -> Option<String> {
        let changed = |before: &Option<String>, now: &Value| {
            before.clone().filter(|before| now["sha256"].as_str() != Some(before.as_str()))
        };
        if let Some(before) = changed(&self.requests, requests_from) {
            return Some(format!(
                "the file of requests differs from that of {} (SHA-256 {before}): use the same to repeat it",
                self.file
            ));
        }
        changed(&self.body, body).map(|before| {
            format!(
                "the body differs from that of {} (SHA-256 {before}): give the same with --body-file to repeat it",
                self.file
            )
        })
    }
}
