//! Profiles in a file, of repetitions and of the servers of a soak.

use std::collections::HashMap;
use std::sync::Arc;

use pitot_plan::Profiled;
use rusqlite::{Connection, params};

use super::error::RecordError;
use crate::run::{Profile, ProfileEntry};
use crate::soak::SubjectProfile;

/// What was recorded.
#[derive(Clone, Copy, Debug)]
pub(super) enum Whose {
    Repetition(i64),
    Subject { id: i64, at_s: f64 },
}

/// Adds a profile; a name that another profile of the file has stands there once.
pub(super) fn insert(
    connection: &Connection,
    whose: Whose,
    profile: &Profile,
) -> Result<(), rusqlite::Error> {
    let (repetition, subject, at_s) = match whose {
        Whose::Repetition(id) => (Some(id), None, None),
        Whose::Subject { id, at_s } => (None, Some(id), Some(at_s)),
    };
    let [requests, cpu_ns, lost] =
        [profile.requests, profile.cpu_ns, profile.lost].map(|number| number as i64);
    connection.execute(
        "INSERT INTO profile VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![repetition, subject, at_s, profile.kind.word(), requests, cpu_ns, lost, profile.sees_kernel],
    )?;
    let id = connection.last_insert_rowid();
    let mut new = connection.prepare_cached("INSERT OR IGNORE INTO profile_name (name) VALUES (?1)")?;
    let mut met = connection.prepare_cached(
        "INSERT INTO profile_entry SELECT ?1, id, ?3, ?4 FROM profile_name WHERE name = ?2",
    )?;
    for entry in &profile.entries {
        new.execute([&*entry.name])?;
        met.execute(params![id, &*entry.name, entry.count as i64, entry.ns as i64])?;
    }
    Ok(())
}

/// Those of a run, by repetition.
pub(super) fn of_repetitions(connection: &Connection) -> Result<HashMap<i64, Vec<Profile>>, RecordError> {
    let mut all: HashMap<i64, Vec<Profile>> = HashMap::new();
    for (whose, profile) in read(connection)? {
        if let Whose::Repetition(id) = whose {
            all.entry(id).or_default().push(profile);
        }
    }
    Ok(all)
}

/// Those of a soak, oldest first.
pub(super) fn of_subjects(connection: &Connection) -> Result<Vec<SubjectProfile>, RecordError> {
    let of_subject = |(whose, profile)| match whose {
        Whose::Subject { id, at_s } => Some(SubjectProfile { subject: id, at_s, profile }),
        Whose::Repetition(_) => None,
    };
    Ok(read(connection)?.into_iter().filter_map(of_subject).collect())
}

/// All, in the order in which they were written; none in a file from before they were recorded.
fn read(connection: &Connection) -> Result<Vec<(Whose, Profile)>, RecordError> {
    if !connection.table_exists(None, "profile_entry")? {
        return Ok(Vec::new());
    }
    let mut entries = read_entries(connection)?;
    let mut query = connection.prepare(
        "SELECT id, repetition_id, subject, at_s, kind, requests, cpu_ns, lost, sees_kernel FROM profile ORDER BY id",
    )?;
    let mut rows = query.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let whose = match (row.get(1)?, row.get(2)?, row.get(3)?) {
            (Some(id), None, None) => Whose::Repetition(id),
            (None, Some(id), Some(at_s)) => Whose::Subject { id, at_s },
            _ => return Err(RecordError::Damaged("a profile belongs to nothing".to_owned())),
        };
        let word: String = row.get(4)?;
        let kind = Profiled::of_word(&word)
            .ok_or_else(|| RecordError::Damaged(format!("there is no profile {:?}", word.escape_debug())))?;
        let profile = Profile {
            kind,
            requests: count(row.get(5)?)?,
            cpu_ns: count(row.get(6)?)?,
            lost: count(row.get(7)?)?,
            sees_kernel: row.get(8)?,
            entries: entries.remove(&row.get(0)?).unwrap_or_default(),
        };
        all.push((whose, profile));
    }
    match entries.is_empty() {
        true => Ok(all),
        false => Err(RecordError::Damaged("an entry belongs to no profile".to_owned())),
    }
}

/// By profile.
fn read_entries(connection: &Connection) -> Result<HashMap<i64, Vec<ProfileEntry>>, RecordError> {
    let mut names: HashMap<i64, Arc<str>> = HashMap::new();
    let mut query = connection.prepare("SELECT id, name FROM profile_name")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        names.insert(row.get(0)?, Arc::from(row.get::<_, String>(1)?));
    }
    let mut entries: HashMap<i64, Vec<ProfileEntry>> = HashMap::new();
    let mut query = connection
        .prepare("SELECT profile_id, name_id, count, ns FROM profile_entry ORDER BY profile_id, name_id")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let name = names.get(&row.get(1)?).cloned();
        let name =
            name.ok_or_else(|| RecordError::Damaged("an entry of a profile has no name".to_owned()))?;
        let entry = ProfileEntry { name, count: count(row.get(2)?)?, ns: count(row.get(3)?)? };
        entries.entry(row.get(0)?).or_default().push(entry);
    }
    Ok(entries)
}

fn count(value: i64) -> Result<u64, RecordError> {
    match u64::try_from(value) {
        Ok(count) if count <= pitot_results::COUNT_MAX => Ok(count),
        _ => Err(RecordError::Damaged(format!("a profile has the count {value}"))),
    }
}
