//! `#[needs("curl")]`: a test that compares with a program is reported as ignored, with the reason, where the program is
//! missing.
//!
//! A test that returns early where it cannot run counts as passed, and nobody notices that nothing was compared. The
//! test runner of Rust knows of ignored tests only when it is compiled, so the build script of this crate looks at the
//! machine, and the attribute turns what it found into `#[ignore = "..."]`. After an installation cargo runs the build
//! script again.
//!
//! The crate is a dependency of tests alone; the program itself is built without it.
#![forbid(unsafe_code)]

mod requirements;

use proc_macro::{Delimiter, TokenStream, TokenTree};

use requirements::{REQUIREMENTS, Requirement};

/// The names of the requirements that the build script did not find, separated by commas.
const MISSING: &str = env!("PITOT_MISSING");

/// Ignores a test where the machine lacks one of the named requirements (see `src/requirements.rs`), and says what to
/// install. It stands above `#[test]`, which must still see the `#[ignore]`.
///
/// ```text
/// #[needs("curl")]
/// #[test]
/// fn curl_gets_a_page() {}
/// ```
#[proc_macro_attribute]
pub fn needs(names: TokenStream, test: TokenStream) -> TokenStream {
    match missing(names) {
        Err(error) => compile_error(&error),
        Ok(_) if !is_test(&test) => compile_error("#[needs] stands above #[test]"),
        Ok(None) => test,
        Ok(Some(requirement)) => {
            let reason = format!("needs {}: {}", requirement.name, requirement.fix);
            let mut ignored: TokenStream = format!("#[ignore = {reason:?}]").parse().expect("an attribute");
            ignored.extend(test);
            ignored
        }
    }
}

/// The first of `names` that is missing.
fn missing(names: TokenStream) -> Result<Option<&'static Requirement>, String> {
    let mut first = None;
    for token in names {
        if matches!(&token, TokenTree::Punct(comma) if comma.as_char() == ',') {
            continue;
        }
        let text = token.to_string();
        let Some(requirement) =
            REQUIREMENTS.iter().find(|requirement| text.trim_matches('"') == requirement.name)
        else {
            return Err(format!("nothing in crates/needs/src/requirements.rs is called {text}"));
        };
        if first.is_none() && MISSING.split(',').any(|name| name == requirement.name) {
            first = Some(requirement);
        }
    }
    Ok(first)
}

/// Whether `#[test]` is among the attributes.
fn is_test(item: &TokenStream) -> bool {
    item.clone().into_iter().any(|token| {
        matches!(&token, TokenTree::Group(group)
            if group.delimiter() == Delimiter::Bracket && group.stream().to_string() == "test")
    })
}

fn compile_error(message: &str) -> TokenStream {
    format!("compile_error!({message:?});").parse().expect("an item")
}
