//! The file of a soak.

use std::path::{Path, PathBuf};

use pitot_record::file::Moment;
use pitot_record::soak::{Event, EventKind, Info, Load, Soak, State, Subject, Totals};
use pitot_record::{RecordError, SoakWriter};

use super::contract::{End, Say, Store, nothing};
use super::sittings::sittings;

pub(super) const STORE: Store = Store { name: "soak file", prepare: nothing, work, check };

fn place(root: &Path) -> PathBuf {
    root.join("store/soak.pitot")
}

/// Makes the file, or goes on with the one that is there, as its user would.
fn begin(root: &Path) -> Result<SoakWriter, RecordError> {
    let path = place(root);
    let info =
        Info { title: "t".repeat(3000), arguments: vec!["http://me:hunter22@h/".into()], ..Info::default() };
    let mut file = match path.exists() {
        true => {
            let soak = Soak::open_to_resume(&path).map_err(|e| RecordError::Damaged(e.to_string()))?;
            SoakWriter::resume(&path, &soak.info)?
        }
        false => SoakWriter::create(&path, &info)?,
    };
    file.put_subject(&Subject { id: 1, name: "server".into(), ..Subject::default() })?;
    file.put_load(&Load { id: 1, subject: 1, name: "load".into(), ..Load::default() })?;
    Ok(file)
}

/// What is written of an interval: a count and an event.
fn moment(number: u32) -> Moment {
    let event = Event {
        at_s: f64::from(number),
        until_s: None,
        subject: Some(1),
        kind: EventKind::Kernel,
        sentence: format!("event {number}"),
        evidence: format!("{number} ").repeat(2000),
    };
    let totals = Totals { completed: u64::from(number) + 1, ..Totals::default() };
    Moment { now_s: f64::from(number), totals: vec![(1, totals)], events: vec![event], ..Moment::default() }
}

fn work(root: &Path, say: Say<'_>) {
    sittings(
        "written",
        &mut || begin(root),
        &mut |file, number| file.write(&moment(number)),
        &mut |file| file.finish(State::Stopped),
        say,
    );
}

fn check(root: &Path, said: &[String], _: End) -> Result<(), String> {
    const NEW: u32 = 100;
    if said.iter().any(|line| line == "begun") && !place(root).exists() {
        return Err("the file is lost".into());
    }
    begin(root).and_then(|mut file| file.write(&moment(NEW))).map_err(|e| e.to_string())?;
    let soak = Soak::open(&place(root)).map_err(|e| e.to_string())?;
    let wanted = said.iter().filter_map(|line| line.strip_prefix("written ")?.parse().ok());
    for number in wanted.chain([NEW]) {
        if !moment(number).events.iter().all(|event| soak.events.contains(event)) {
            return Err(format!("interval {number} is lost"));
        }
    }
    Ok(())
}
