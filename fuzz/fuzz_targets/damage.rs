//! Damage to a file that is an SQLite database, as an input describes it: values, rows and tables are changed by SQL, JSON in its
//! columns is changed at some place, and bytes are overwritten.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use rusqlite::Connection;
use rusqlite::types::Value;
use serde_json::Value as Json;

/// A folder in memory, if there is one.
static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let at = Path::new("/dev/shm");
    tempfile::tempdir_in(if at.is_dir() { at } else { Path::new("/tmp") }).expect("a folder")
});

/// The path of a file of this process.
pub fn path(name: &str) -> PathBuf {
    FOLDER.path().join(name)
}

/// Reads an input from its beginning; what is not there is zero.
pub struct Input<'a>(pub &'a [u8]);

impl Input<'_> {
    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.byte())
    }

    fn text(&mut self) -> String {
        let len = usize::from(self.byte()).min(self.0.len());
        let (text, rest) = self.0.split_at(len);
        self.0 = rest;
        String::from_utf8_lossy(text).into_owned()
    }

    /// One of so many.
    fn below(&mut self, count: usize) -> usize {
        usize::from(u16::from_le_bytes(self.bytes())) % count.max(1)
    }

    fn integer(&mut self) -> i64 {
        const ODD: [i64; 12] =
            [0, 1, -1, 2, 7, 100, i64::MAX, i64::MIN, u32::MAX as i64, 1 << 32, 1 << 53, 1 << 56];
        match self.byte() {
            which @ 0..=200 => ODD[usize::from(which) % ODD.len()],
            _ => i64::from_le_bytes(self.bytes()),
        }
    }

    fn real(&mut self) -> f64 {
        const ODD: [f64; 9] = [0.0, -1.0, 1e-300, 0.5, 1.0, 1e9, 1e16, 1e300, f64::INFINITY];
        match self.byte() {
            which @ 0..=200 => ODD[usize::from(which) % ODD.len()],
            _ => f64::from_le_bytes(self.bytes()),
        }
    }

    fn value(&mut self) -> Value {
        match self.byte() % 5 {
            0 => Value::Null,
            1 => Value::Real(self.real()),
            2 => Value::Text(self.text()),
            _ => Value::Integer(self.integer()),
        }
    }

    fn json(&mut self) -> Json {
        match self.byte() % 7 {
            0 => Json::Null,
            1 => self.real().into(),
            2 => self.text().into(),
            3 => Json::Array(Vec::new()),
            4 => Json::Object(serde_json::Map::new()),
            5 => (self.integer() as u64).into(),
            _ => self.integer().into(),
        }
    }
}

/// At most so many changes.
const CHANGES_MAX: u32 = 64;

/// Writes `sound` to `path` and does to it what the input says.
pub fn damage(path: &Path, sound: &[u8], input: &mut Input<'_>) {
    let _ = fs::remove_file(path.with_extension("pitot-wal"));
    fs::write(path, sound).expect("a file can be written");
    let mut patches = Vec::new();
    {
        let mut connection = Connection::open(path).expect("it is a database");
        let settings = "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;";
        connection.execute_batch(settings).expect("settings");
        let transaction = connection.transaction().expect("a transaction");
        for _ in 0..CHANGES_MAX {
            if input.0.is_empty() {
                break;
            }
            match input.byte() % 8 {
                0 => patches.push((input.bytes(), input.byte())),
                // What cannot be done is not.
                _ => drop(change(&transaction, input)),
            }
        }
        let _ = transaction.commit();
    }
    if !patches.is_empty() {
        let mut bytes = fs::read(path).expect("a file can be read");
        for (at, byte) in patches {
            let at = u32::from_le_bytes(at) as usize % bytes.len();
            bytes[at] = byte;
        }
        fs::write(path, bytes).expect("a file can be written");
    }
}

fn change(connection: &Connection, input: &mut Input<'_>) -> rusqlite::Result<()> {
    let names = |query: &str| -> rusqlite::Result<Vec<String>> {
        connection.prepare(query)?.query_map([], |row| row.get(0))?.collect()
    };
    let mut tables = names("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?;
    let table = tables.swap_remove(input.below(tables.len()));
    let mut columns = names(&format!("SELECT name FROM pragma_table_info('{table}') ORDER BY cid"))?;
    let key = columns[0].clone();
    let column = columns.swap_remove(input.below(columns.len()));
    let rows: i64 = connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))?;
    let row = input.below(rows as usize);
    let this = format!("{key} = (SELECT {key} FROM {table} LIMIT 1 OFFSET {row})");
    match input.byte() % 16 {
        0 => connection.execute(&format!("DELETE FROM {table} WHERE {this}"), [])?,
        1 => connection.execute(&format!("DELETE FROM {table}"), [])?,
        2 => connection.execute(&format!("INSERT INTO {table} SELECT * FROM {table} WHERE {this}"), [])?,
        3 => connection.execute(&format!("DROP TABLE {table}"), [])?,
        4 => {
            connection.pragma_update(None, "user_version", i64::from(input.byte() % 12) - 1)?;
            0
        }
        5 => connection.execute(&format!("UPDATE {table} SET {column} = ?1"), [input.value()])?,
        6 => connection.execute(&format!("UPDATE {table} SET {column} = {column} + ?1"), [input.value()])?,
        7 | 8 | 9 => {
            connection.execute(&format!("UPDATE {table} SET {column} = ?1 WHERE {this}"), [input.value()])?
        }
        _ => {
            let text: String =
                connection
                    .query_row(&format!("SELECT {column} FROM {table} WHERE {this}"), [], |row| row.get(0))?;
            let Ok(mut json) = serde_json::from_str::<Json>(&text) else { return Ok(()) };
            let mut at = input.below(count(&json));
            if let Some(place) = nth(&mut json, &mut at) {
                *place = input.json();
            }
            connection
                .execute(&format!("UPDATE {table} SET {column} = ?1 WHERE {this}"), [json.to_string()])?
        }
    };
    Ok(())
}

/// How many values a value is, itself and those in it.
fn count(json: &Json) -> usize {
    1 + match json {
        Json::Array(values) => values.iter().map(count).sum::<usize>(),
        Json::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

fn nth<'a>(json: &'a mut Json, at: &mut usize) -> Option<&'a mut Json> {
    if *at == 0 {
        return Some(json);
    }
    *at -= 1;
    match json {
        Json::Array(values) => values.iter_mut().find_map(|value| nth(value, at)),
        Json::Object(fields) => fields.values_mut().find_map(|value| nth(value, at)),
        _ => None,
    }
}
