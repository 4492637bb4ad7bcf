//! The body of the requests that the command line names: one of several options says what it is.

use pitot_requests::{content, form};
use pitot_results::Failure;

use crate::options::Options;

/// A body and what it says it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    /// The content type, where it follows from the option.
    pub(super) content_type: Option<String>,
}

/// The options that name a body, in the order of the help.
pub(super) fn given(options: &Options) -> impl Iterator<Item = &'static str> {
    let given = [
        ("--command", !options.content.commands.is_empty()),
        ("--body", options.body.is_some()),
        ("--body-file", options.content.body_file.is_some()),
        ("--form", !options.content.form.is_empty()),
    ];
    given.into_iter().filter(|(_, given)| *given).map(|(name, _)| name)
}

/// The body that the options ask for, if they ask for one.
pub(super) fn of(options: &Options) -> Result<Option<Body>, Failure> {
    let mut names = given(options);
    if let (Some(one), Some(other)) = (names.next(), names.next()) {
        return Err(Failure::misuse(format!("{one} and {other} each name a body"), "remove one of them"));
    }
    let plain = |bytes| Some(Body { bytes, content_type: None });
    if let Some(text) = &options.body {
        return Ok(plain(content::body(text)?));
    }
    if let Some(file) = &options.content.body_file {
        return Ok(plain(content::read(file)?));
    }
    if options.content.form.is_empty() {
        return Ok(None);
    }
    let (bytes, content_type) = form::encode(&options.content.form)?;
    Ok(Some(Body { bytes, content_type: Some(content_type) }))
}
