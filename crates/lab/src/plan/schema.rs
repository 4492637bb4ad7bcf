//! The JSON Schema of plans, made of the tables of keys, for editors that complete and check while one types.

use serde_json::{Map, Value, json};

use super::keys::{self, Key, Kind, Presence, Shape};
use crate::catalog::Catalog;

/// The JSON Schema (draft 2020-12) of a plan, with the words of `catalog` where they are known.
pub fn plan_schema(catalog: &Catalog) -> Value {
    let mut schema = table(keys::PLAN, catalog);
    let head = [
        ("$schema", "https://json-schema.org/draft/2020-12/schema"),
        ("title", "A plan of Pitot"),
        ("description", "What a run is to find out: the levels of its factors, crossed, are its cells."),
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
            "settings": {
                "type": "object",
                "additionalProperties": {"anyOf": [
                    {"$ref": "#/$defs/scalar"},
                    {"type": "array", "items": {"$ref": "#/$defs/scalar"}}
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
        // Defaults are spelled as in a plan, where numbers and texts are those of JSON.
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
        Shape::Settings => json!({"$ref": "#/$defs/settings"}),
        Shape::Helpers => json!({"type": "object", "additionalProperties": {"$ref": "#/$defs/settings"}}),
        Shape::Servers => {
            let mut external = table(keys::EXTERNAL, catalog);
            external["required"] = json!(["command"]);
            json!({
                "type": "object",
                "additionalProperties": {"anyOf": [external, {"$ref": "#/$defs/settings"}]}
            })
        }
        Shape::SettingSets => json!({
            "type": "object",
            "additionalProperties": {"type": "object", "additionalProperties": {"$ref": "#/$defs/scalar"}}
        }),
        Shape::Hosts => json!({"type": "object", "additionalProperties": table(keys::HOST, catalog)}),
        Shape::Kernels => json!({"type": "object", "additionalProperties": table(keys::KERNEL, catalog)}),
        Shape::Factors => json!({
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"anyOf": [
                {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/scalar"}}, {"type": "object"}
            ]}
        }),
        Shape::Faults => list_with_levels(table(keys::FAULT, catalog)),
        Shape::Soak => table(keys::SOAK, catalog),
        Shape::Exclusions => list_with_levels(table(keys::EXCLUSION, catalog)),
        Shape::Published => json!({"type": "array", "items": table(keys::PUBLISHED, catalog)}),
        Shape::PublishedValues => list_with_levels(table(keys::PUBLISHED_VALUE, catalog)),
    }
}

/// A list of tables that have levels besides their keys.
fn list_with_levels(mut table: Value) -> Value {
    table["additionalProperties"] = json!(true);
    json!({"type": "array", "items": table})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::catalog;

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
