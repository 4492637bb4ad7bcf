use pitot_meter::Histogram;

/// The histogram of a text; an empty one of an empty text.
pub(super) fn decoded(text: &str) -> Result<Histogram, String> {
    match text {
        "" => Ok(Histogram::new()),
        text => Histogram::decode(text).map_err(|e| e.to_string()),
    }
}
