use std::fmt::Display;

use super::contract::Say;

/// Steps before the lab ends, and after it has been started again.
const SITTINGS: [std::ops::Range<u32>; 2] = [0..2, 2..3];

/// A lab that is stopped and started again: it begins or goes on with its file, writes its steps, each once more if that failed, and
/// finishes the file in the last sitting alone. `written` is how it says that a step is in the file.
pub(super) fn sittings<F, E: Display>(
    written: &str,
    begin: &mut dyn FnMut() -> Result<F, E>,
    write: &mut dyn FnMut(&mut F, u32) -> Result<(), E>,
    finish: &mut dyn FnMut(F) -> Result<(), E>,
    say: Say<'_>,
) {
    for sitting in SITTINGS {
        let mut begun = begin();
        if let Err(why) = &begun {
            say(&format!("not begun: {why}"));
            begun = begin();
        }
        let Ok(mut file) = begun.inspect_err(|why| say(&format!("not begun: {why}"))) else { continue };
        say("begun");
        let is_last = sitting.end == SITTINGS[1].end;
        for step in sitting {
            for _ in 0..2 {
                match write(&mut file, step) {
                    Ok(()) => {
                        say(&format!("{written} {step}"));
                        break;
                    }
                    Err(why) => say(&format!("not {written}: {why}")),
                }
            }
        }
        if is_last && finish(file).is_ok() {
            say("finished");
        }
    }
    say("end");
}
