//! Reading the options in the query of a URL.

use crate::entry::UrlOption;

/// The options of a query, `a=1&b=2`, as names and values.
///
/// # Errors
/// An option without `=`, for which `example` shows how one is written.
pub(crate) fn pairs<'a>(
    query: &'a str,
    example: &str,
) -> impl Iterator<Item = Result<(&'a str, &'a str), String>> {
    query.split('&').filter(|pair| !pair.is_empty()).map(move |pair| {
        pair.split_once('=').ok_or_else(|| format!("`{pair}` is not an option: write it as in {example}"))
    })
}

/// The message for an option that a scheme does not have.
pub(crate) fn unknown(name: &str, options: &[UrlOption]) -> String {
    let names: Vec<&str> = options.iter().map(|option| option.name).collect();
    format!("unknown option `{name}` in the URL: choose from {}", names.join(", "))
}
