//! The JSON Schema of plans, made of the tables of keys, for editors that complete and check while one types.

use serde_json::{Map, Value, json};

use super::keys::{self, Key, Kind};
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
    object.insert("required".into(), json!(["factors"]));
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

fn table(keys: &[Key], catalog: &Catalog) -> Value {
    let properties: Map<String, Value> =
        keys.iter().map(|k| (k.name.to_owned(), property(k, catalog))).collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn property(key: &Key, catalog: &Catalog) -> Value {
    let mut schema = kind(key.kind, catalog);
    if let Some(object) = schema.as_object_mut() {
        object.insert("description".into(), json!(key.doc));
    }
    schema
}

fn kind(kind: Kind, catalog: &Catalog) -> Value {
    match kind {
        Kind::Text => json!({"type": "string"}),
        Kind::Texts => json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
        Kind::Count => json!({"type": "integer", "minimum": 0}),
        Kind::Number => json!({"type": "number"}),
        Kind::Duration => json!({"$ref": "#/$defs/duration"}),
        Kind::Share => json!({"anyOf": [
            {"type": "number", "minimum": 0, "exclusiveMaximum": 1}, {"type": "string", "pattern": "^[0-9.]+ *%$"}
        ]}),
        Kind::Choice(words) => json!({"enum": words}),
        Kind::Statistic => json!({"type": "string", "pattern": r"^(median|trimmed-mean\([0-9]+\))$"}),
        Kind::Metric => json!({"enum": catalog.metrics}),
        Kind::Settings => json!({"$ref": "#/$defs/settings"}),
        Kind::Levels => json!({"$ref": "#/$defs/levels"}),
        Kind::Factors => json!({
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"anyOf": [
                {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/scalar"}}, {"type": "object"}
            ]}
        }),
        Kind::Files => json!({"$ref": "#/$defs/files"}),
        Kind::Servers => json!({
            "type": "object",
            "additionalProperties": {"anyOf": [with_required(table(keys::EXTERNAL, catalog), &["command"]),
                                               {"$ref": "#/$defs/settings"}]}
        }),
        Kind::Helper => json!({
            "type": "object",
            "additionalProperties": {"$ref": "#/$defs/settings"}
        }),
        Kind::Ready => json!({"anyOf": [
            {"const": "port"},
            {"type": "object", "properties": {"line": {"type": "string"}}, "required": ["line"],
             "additionalProperties": false}
        ]}),
        Kind::Tables(keys, with_levels) => {
            let mut item = table(keys, catalog);
            if with_levels {
                item["additionalProperties"] = json!(true);
            }
            json!({"type": "array", "items": item})
        }
    }
}

fn with_required(mut schema: Value, keys: &[&str]) -> Value {
    schema["required"] = json!(keys);
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::catalog;

    #[test]
    fn the_schema_describes_every_key_of_a_plan() {
        let schema = plan_schema(&catalog());
        for key in keys::PLAN {
            let told = &schema["properties"][key.name]["description"];
            assert_eq!(told, key.doc, "{}", key.name);
        }
        assert_eq!(schema["properties"]["metric"]["enum"][0], "throughput");
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
