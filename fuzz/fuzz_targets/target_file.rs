//! Files of targets: any text is a target or is refused with the place of the mistake and what fixes it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pitot_target::read;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let sources =
        ["main.c", "server.js", "pom.xml", "src/lib.rs"].map(|path| (path.to_owned(), "text".to_owned()));
    match read("target", "target.toml", text, sources.into()) {
        Ok(target) => {
            let recorded = serde_json::to_string(&target).expect("plain data has a JSON form");
            let again = serde_json::from_str(&recorded).expect("a target that was written can be read");
            assert_eq!(target, again);
        }
        Err(error) => {
            assert!(!error.what.is_empty() && !error.fix.is_empty() && error.line > 0 && error.column > 0);
            assert!(error.line <= text.matches('\n').count() + 1, "{error:?}");
        }
    }
});
