//! The JSON Schema of plans, made of the tables of keys, for completion and checks in editors.

use serde_json::{Map, Value, json};

use super::host::SETTINGS_FACTOR;
use super::keys::{self, Key, Kind, Presence, Shape};
use super::levels::{KERNEL_FACTOR, REPLICATE_FACTOR, SERVER_FACTOR};
use super::options::{self, Side};
use crate::catalog::{Catalog, OptionWord};

/// The JSON Schema (draft 2020-12) of a plan, with the words of `catalog` where they are known.
pub fn plan_schema(catalog: &Catalog) -> Value {
    let mut schema = table(keys::PLAN, catalog);
    let head = [
        ("$schema", "https://json-schema.org/draft/2020-12/schema"),
        ("title", "A plan of Pitot"),
        ("description", "The plan of a run: the levels of its factors, crossed, are its cells."),
    ];
    let object = schema.as_object_mut().expect("a table is an object");
    object.extend(head.map(|(key, value)| (key.to_owned(), json!(value))));
    object.insert(
        "$defs".into(),
        json!({
            "scalar": {"type": ["string", "number", "boolean"]},
            "duration": {"type": "string", "pattern": "^[0-9.]+(ns|us|ms|s|m|h)$"},
            "levels": {
                "type": "object",
                "description": "Levels by factor: one, or a list of them.",
                "additionalProperties": {"anyOf": [
                    {"$ref": "#/$defs/scalar"},
                    {"type": "array", "items": {"$ref": "#/$defs/scalar"}},
                    {"$ref": "#/$defs/levels"}
                ]}
            },
            "files": {
                "type": "object",
                "description": "Contents by path: a text, { size = \"1KiB\" }, or { lines = 10, line = \"u{i}\" }.",
                "additionalProperties": {"anyOf": [
                    {"type": "string"},
                    {"type": "object", "properties": {"size": {"type": ["string", "integer"]}},
                     "required": ["size"], "additionalProperties": false},
                    {"type": "object", "properties": {"lines": {"type": ["string", "integer"]},
                                                      "line": {"type": "string"}},
                     "required": ["lines", "line"], "additionalProperties": false}
                ]}
            },
        }),
    );
    schema
}

fn table<T>(keys: &[Key<T>], catalog: &Catalog) -> Value {
    let properties: Map<String, Value> =
        keys.iter().map(|key| (key.name.to_owned(), property(key, catalog))).collect();
    let required: Vec<&str> =
        keys.iter().filter(|key| matches!(key.presence, Presence::Required(_))).map(|key| key.name).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn property<T>(key: &Key<T>, catalog: &Catalog) -> Value {
    let mut schema = kind(&key.kind, catalog);
    schema["description"] = json!(key.doc);
    if let Presence::Default(text) = key.presence {
        // Defaults are TOML, whose numbers and texts are also JSON.
        schema["default"] = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    }
    schema
}

fn kind<T>(kind: &Kind<T>, catalog: &Catalog) -> Value {
    match kind {
        Kind::Text(_) | Kind::Cpus(_) | Kind::CpusOrAll(_) => json!({"type": "string"}),
        Kind::Texts(_) | Kind::Command(_) => {
            json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})
        }
        Kind::Variables(_) => {
            json!({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}})
        }
        Kind::Count { least, most, .. } => json!({"type": "integer", "minimum": least, "maximum": most}),
        Kind::Number(_) => json!({"type": "number"}),
        Kind::Duration { .. } => json!({"$ref": "#/$defs/duration"}),
        Kind::Share(_) => json!({"anyOf": [
            {"type": "number", "minimum": 0, "exclusiveMaximum": 1}, {"type": "string", "pattern": "^[0-9.]+ *%$"}
        ]}),
        Kind::Choice { words, .. } => json!({"enum": words}),
        Kind::Choices { words, .. } => {
            json!({"anyOf": [{"enum": words}, {"type": "array", "items": {"enum": words}}]})
        }
        Kind::Statistic(_) => json!({"type": "string", "pattern": r"^(median|trimmed-mean\([0-9]+\))$"}),
        Kind::Metric(_) => json!({"enum": catalog.metrics}),
        Kind::Metrics(_) => json!({"type": "array", "items": {"enum": catalog.metrics}}),
        Kind::Charts(_) => json!({"type": "array", "items": {"enum": catalog.charts}}),
        Kind::Levels(..) => json!({"$ref": "#/$defs/levels"}),
        Kind::Files(_) => json!({"$ref": "#/$defs/files"}),
        Kind::Ready(_) => json!({"anyOf": [
            {"const": "port"},
            {"type": "object", "properties": {"line": {"type": "string"}}, "required": ["line"],
             "additionalProperties": false},
            {"type": "object", "properties": {"get": {"type": "string", "pattern": "^/"}}, "required": ["get"],
             "additionalProperties": false},
            {"type": "object", "properties": {"send": {"type": "string"}, "expect": {"type": "string"}},
             "required": ["expect"], "additionalProperties": false}
        ]}),
        Kind::Structure(shape, _) => structure(*shape, catalog),
    }
}

fn structure(shape: Shape, catalog: &Catalog) -> Value {
    match shape {
        Shape::Server => with(server_options(catalog), &[("host", text())]),
        Shape::Target => closed(target_settings(catalog)),
        Shape::Load => with(
            load_options(catalog),
            &[("host", text()), ("hosts", json!({"type": "array", "items": {"type": "string"}}))],
        ),
        Shape::Helpers => {
            json!({"type": "object", "additionalProperties": closed(server_options(catalog))})
        }
        Shape::Servers => {
            let keys = table(keys::EXTERNAL, catalog);
            let common = |name: &str| (name.to_owned(), keys["properties"][name].clone());
            let mut external = keys.clone();
            external["required"] = json!(["command"]);
            let mut of_pitot = server_options(catalog);
            of_pitot.extend(["summary", "files", "url"].map(common));
            let mut target = target_settings(catalog);
            target.extend(["summary", "files"].map(common));
            let names: Vec<&str> = catalog.targets.iter().map(|word| word.target.name.as_str()).collect();
            let mut target = with(target, &[("target", json!({"enum": names}))]);
            target["required"] = json!(["target"]);
            json!({
                "type": "object",
                "additionalProperties": {"anyOf": [closed(of_pitot), target, external]}
            })
        }
        Shape::SettingSets => json!({
            "type": "object",
            "additionalProperties": {"type": "object", "additionalProperties": {"$ref": "#/$defs/scalar"}}
        }),
        Shape::Hosts => json!({"type": "object", "additionalProperties": table(keys::HOST, catalog)}),
        Shape::Kernels => json!({"type": "object", "additionalProperties": table(keys::KERNEL, catalog)}),
        Shape::Factors => factors(catalog),
        Shape::Faults => list_with_levels(table(keys::FAULT, catalog)),
        Shape::Soak => table(keys::SOAK, catalog),
        Shape::Exclusions => list_with_levels(table(keys::EXCLUSION, catalog)),
        Shape::Published => json!({"type": "array", "items": table(keys::PUBLISHED, catalog)}),
        Shape::Bounds => json!({"type": "string"}),
        Shape::Claims => json!({"type": "array", "items": table(keys::CLAIM, catalog)}),
        Shape::PublishedValues => list_with_levels(table(keys::PUBLISHED_VALUE, catalog)),
    }
}

/// The factors. In TOML `load.connections` is a table and `"load.connections"` a key; both are accepted.
fn factors(catalog: &Catalog) -> Value {
    let levels = |level: &Value| json!({"type": "array", "minItems": 1, "items": level});
    let any = levels(&json!({"$ref": "#/$defs/scalar"}));
    let mut properties: Map<String, Value> =
        [SERVER_FACTOR, REPLICATE_FACTOR, SETTINGS_FACTOR, KERNEL_FACTOR]
            .map(|name| (name.to_owned(), any.clone()))
            .into_iter()
            .collect();
    properties.insert("host".into(), json!({"type": "object"}));
    let sides = [
        ("server", server_options(catalog)),
        ("load", load_options(catalog)),
        ("target", target_settings(catalog)),
    ];
    for (side, options) in sides {
        let options: Map<String, Value> =
            options.iter().map(|(name, value)| (name.clone(), levels(value))).collect();
        properties.extend(options.iter().map(|(name, value)| (format!("{side}.{name}"), value.clone())));
        let options = closed(options);
        let or_levels = properties.get(side).map(|own| json!({"anyOf": [own, options]}));
        properties.insert(side.to_owned(), or_levels.unwrap_or(options));
    }
    let mut factors = closed(properties);
    factors["minProperties"] = json!(1);
    factors["patternProperties"] = json!({"^host\\.": any});
    factors
}

fn text() -> Value {
    json!({"type": "string"})
}

/// A table with only these keys.
fn closed(properties: Map<String, Value>) -> Value {
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn with(mut properties: Map<String, Value>, more: &[(&str, Value)]) -> Value {
    properties.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    closed(properties)
}

/// Options of `pitot serve`.
fn server_options(catalog: &Catalog) -> Map<String, Value> {
    let mut properties = properties_of(Side::Server, catalog);
    let names = |names: Vec<&str>| json!({"enum": names});
    let protocols = catalog.protocols.iter().map(|protocol| protocol.name.as_str()).collect();
    properties.insert("protocol".into(), names(protocols));
    properties
        .insert("model".into(), names(catalog.models.iter().map(|model| model.name.as_str()).collect()));
    let mechanisms = catalog.mechanisms.iter().map(String::as_str).collect();
    properties.insert("mechanism".into(), names(mechanisms));
    properties
}

/// Options of `pitot load` and of the programs that may replace it.
fn load_options(catalog: &Catalog) -> Map<String, Value> {
    let mut properties = properties_of(Side::Load, catalog);
    for program in &catalog.programs {
        for (name, option) in properties_of(Side::Program(program), catalog) {
            // What an option takes may depend on the program.
            let either = match properties.get(&name) {
                Some(other) if *other != option => json!({"anyOf": [other, option]}),
                _ => option,
            };
            properties.insert(name, either);
        }
    }
    let names: Vec<&str> = catalog.programs.iter().map(|program| program.name.as_str()).collect();
    properties.insert("program".into(), json!({"enum": names}));
    properties
}

fn properties_of(side: Side<'_>, catalog: &Catalog) -> Map<String, Value> {
    options::known(catalog, side)
        .map(|(name, word)| (name.to_owned(), word.map_or_else(text_or_number, option)))
        .collect()
}

fn text_or_number() -> Value {
    json!({"type": ["string", "number"]})
}

/// A switch takes true or false, other options one value or several.
fn option(word: &OptionWord) -> Value {
    if !word.takes_value {
        return json!({"type": "boolean"});
    }
    let one = match &word.values[..] {
        [] => text_or_number(),
        words => one_of(words.iter().map(String::as_str)),
    };
    json!({"anyOf": [one, {"type": "array", "items": one}]})
}

/// Settings of all targets. The reader of plans checks which target has which.
fn target_settings(catalog: &Catalog) -> Map<String, Value> {
    let mut properties = Map::new();
    for setting in catalog.targets.iter().flat_map(|word| &word.target.settings) {
        let own = match &setting.values[..] {
            [] => json!({"$ref": "#/$defs/scalar"}),
            words => {
                let mut known = one_of(words.iter().map(|(word, _)| word.as_str()));
                // Switches of targets are `on` and `off`; true and false mean the same.
                let flags = [("on", true), ("off", false)];
                let spelled = flags.iter().filter(|(flag, _)| words.iter().any(|(word, _)| word == flag));
                let spelled: Vec<Value> = spelled.map(|(_, value)| json!(value)).collect();
                known["enum"].as_array_mut().expect("it was made as one").extend(spelled);
                known
            }
        };
        let either = match properties.get(&setting.name) {
            Some(other) if *other != own => json!({"$ref": "#/$defs/scalar"}),
            _ => own,
        };
        properties.insert(setting.name.clone(), either);
    }
    properties
}

/// One of these words; a word that is a number may also be written as one.
fn one_of<'a>(words: impl Iterator<Item = &'a str>) -> Value {
    let number = |word: &str| serde_json::from_str::<Value>(word).ok().filter(Value::is_number);
    let values: Vec<Value> = words.flat_map(|word| [Some(json!(word)), number(word)]).flatten().collect();
    json!({"enum": values})
}

/// A list of tables with levels as additional keys.
fn list_with_levels(mut table: Value) -> Value {
    table["additionalProperties"] = json!(true);
    json!({"type": "array", "items": table})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::catalog;

    #[test]
    fn the_schema_describes_every_key_of_a_plan() {
        let schema = plan_schema(&catalog());
        for key in keys::PLAN {
            let description = &schema["properties"][key.name]["description"];
            assert_eq!(description, key.doc, "{}", key.name);
        }
        assert_eq!(schema["properties"]["metric"]["enum"][0], "throughput");
        assert_eq!(schema["required"], json!(["factors"]));
        assert_eq!(schema["properties"]["slices"]["minimum"], 2);
        assert_eq!(schema["properties"]["repetitions"]["maximum"], 10_000);
        assert_eq!(schema["properties"]["ready-timeout"]["default"], "10s");
        assert_eq!(schema["properties"]["published"]["items"]["properties"]["year"]["type"], "integer");
    }

    #[test]
    fn every_reference_in_the_schema_has_its_definition() {
        let schema = plan_schema(&catalog());
        let text = schema.to_string();
        for part in text.split("#/$defs/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(schema["$defs"].get(name).is_some(), "{name}");
        }
    }
}
