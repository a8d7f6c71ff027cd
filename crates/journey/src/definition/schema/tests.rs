//! The evaluator compared with the library as an oracle, and with hostile schemas.

use meantime_core::Json;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::check::{MAX_MISMATCHES, MAX_OPS, Schema, SchemaCheck};

fn check(schema: &Value, value: &Value) -> SchemaCheck {
    let schema = Schema::compile(schema).unwrap_or_else(|problem| panic!("{problem}: {schema}"));
    schema.check(&Json::of(value).unwrap(), u64::MAX)
}

fn messages(schema: &Value, value: &Value) -> Vec<String> {
    let told = check(schema, value).mismatches.into_iter();
    told.map(|it| format!("{} {}", it.pointer, it.message)).collect()
}

/// 2^45 paths in a few kilobytes: each level refers twice to the next, and none matches.
fn exponential(keyword: &str, levels: usize) -> Value {
    let mut definitions = serde_json::Map::new();
    for level in 0..levels {
        let next = json!({ "$ref": format!("#/$defs/l{}", level + 1) });
        let schema = json!({ keyword: [next, next] });
        definitions.insert(format!("l{level}"), schema);
    }
    let last = match keyword {
        "anyOf" => json!(false),
        _ => json!(true),
    };
    definitions.insert(format!("l{levels}"), last);
    json!({ "$ref": "#/$defs/l0", "$defs": definitions })
}

/// A tree in which every level is checked twice.
fn doubling_tree() -> Value {
    let inner = json!({ "properties": { "n": { "$ref": "#" } } });
    json!({ "anyOf": [inner, inner, false], "allOf": [inner, inner] })
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!({ "n": inner }))
}

#[test]
fn no_schema_outruns_its_budget() {
    let long = "a".repeat(500_000);
    let many: Vec<Value> = (0..60_000).map(|n| json!(n)).collect();
    let wide: serde_json::Map<String, Value> =
        (0..20_000).map(|n| (format!("k{n}"), json!(n))).collect();
    let names: Vec<String> = (0..20_000).map(|n| format!("k{n}")).collect();
    let deep_items = json!({ "items": { "$ref": "#" }, "uniqueItems": true });
    let lists = (0..150).fold(json!([]), |inner, n| json!([inner, n]));
    let cases = [
        ("anyOf", exponential("anyOf", 45), json!({})),
        ("allOf", exponential("allOf", 45), json!({})),
        ("oneOf", exponential("oneOf", 45), json!([])),
        ("a tree that doubles", doubling_tree(), nested(60)),
        ("required", json!({ "required": names }), Value::Object(wide.clone())),
        ("contains", json!({ "contains": { "contains": { "enum": names } } }), {
            json!(vec![json!(["x", "y", "z"]); 200])
        }),
        ("look-around", json!({ "pattern": "^(?=(a+)+b)" }), json!(long)),
        ("many states", json!({ "pattern": "(?:a|a|a|a){0,900}b$" }), json!(long)),
        (
            "patternProperties",
            json!({ "patternProperties": {
                "^(?:[a-z0-9]?){500}$": true,
                "^(?:[a-z0-9]?){501}$": true,
                "^(?:[a-z0-9]?){502}$": true,
                "^(?=k).*z$": true
            } }),
            Value::Object(wide.clone()),
        ),
        ("enum", json!({ "contains": { "enum": names } }), json!(many)),
        (
            "unevaluatedProperties",
            json!({
                "anyOf": vec![json!({ "properties": { "x": true } }); 900],
                "unevaluatedProperties": true
            }),
            Value::Object(wide),
        ),
        ("uniqueItems at every level", deep_items, json!(vec![lists; 200])),
    ];
    for (name, schema, value) in cases {
        let checked = check(&schema, &value);
        let told: Vec<&str> = checked.mismatches.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(
            told,
            [format!("checking it against the schema takes more than {MAX_OPS} operations")],
            "{name}"
        );
        assert_eq!(checked.ops, MAX_OPS, "{name}");
    }
}

#[test]
fn what_is_legitimate_fits() {
    let tree = json!({
        "type": "object",
        "properties": { "n": { "$ref": "#" } },
        "additionalProperties": false
    });
    assert_eq!(messages(&tree, &nested(3)), ["/n/n/n 1 is not of type \"object\""]);
    let many: Vec<Value> = (0..20_000).map(|n| json!({ "id": n, "tags": ["a", "b"] })).collect();
    let list = json!({
        "items": {
            "type": "object",
            "required": ["id"],
            "properties": { "id": { "type": "integer", "minimum": 0 }, "tags": { "type": "array" } }
        },
        "uniqueItems": true
    });
    assert_eq!(messages(&list, &json!(many)), [""; 0]);
}

#[test]
fn what_goes_too_deep_is_told() {
    let schema = json!({ "properties": { "n": { "allOf": [{ "$ref": "#" }] } } });
    let message = " checking it against the schema needs more than 400 levels";
    assert_eq!(messages(&schema, &nested(120)), [""; 0]);
    assert_eq!(messages(&schema, &nested(250)), [message]);
}

#[test]
fn what_cannot_be_read_does_not_match() {
    let schema = Schema::compile(&json!({})).unwrap();
    // Such a document is rejected at the API; only the engine can build it.
    let deep = (0..300).fold(Json::null(), |inner, _| Json::list([&inner]));
    let told = schema.check(&deep, u64::MAX).mismatches;
    assert!(told.iter().any(|it| it.message.contains("nested deeper than 256 levels")), "{told:?}");
}

#[test]
fn schemas_that_cannot_be_checked_are_refused_by_name() {
    for (schema, problem) in [
        (json!({ "$ref": "#" }), "refers back to itself"),
        (json!({ "allOf": [{ "anyOf": [{ "$ref": "#" }] }] }), "refers back to itself"),
        (json!({ "$ref": "http://example.org/x.json" }), "refers to another document"),
        (json!({ "$ref": "#/$defs/x" }), "refers to nothing"),
        (json!({ "$ref": "#x" }), "no such anchor"),
        (json!({ "$defs": { "a": { "$id": "http://example.org/a" } } }), "`$id` below the top"),
        (json!({ "pattern": "(?:(?:a{900}){900}){900}" }), "too large"),
        (json!({ "pattern": "(" }), "not a regular expression"),
        (json!({ "$defs": { "a": { "$anchor": "x" }, "b": { "$anchor": "x" } } }), "twice"),
    ] {
        let found = Schema::compile(&schema).map(|_| ()).unwrap_err();
        assert!(found.contains(problem), "{schema}: {found}");
    }
}

#[test]
fn anchors_and_addresses_are_followed() {
    let schema = json!({
        "$id": "http://example.org/s",
        "properties": {
            "a": { "$ref": "#here" },
            "b": { "$ref": "http://example.org/s#/$defs/x~1y%20z" },
            "c": { "$dynamicRef": "#there" }
        },
        "$defs": {
            "h": { "$anchor": "here", "type": "string" },
            "x/y z": { "type": "number" },
            "t": { "$dynamicAnchor": "there", "type": "null" }
        }
    });
    let expected = [
        "/a 1 is not of type \"string\"",
        "/b \"x\" is not of type \"number\"",
        "/c 1 is not of type \"null\"",
    ];
    assert_eq!(messages(&schema, &json!({ "a": 1, "b": "x", "c": 1 })), expected);
}

#[test]
fn long_values_are_shown_short() {
    let told = messages(&json!({ "type": "null" }), &json!("x".repeat(10_000)));
    assert!(told.iter().all(|it| it.len() < 300), "{told:?}");
    let told = messages(&json!({ "items": { "type": "null" } }), &json!(vec![1; 1_000]));
    assert_eq!(told.len(), MAX_MISMATCHES);
}

#[test]
fn numbers_are_exact() {
    let large = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
    for (schema, value, is_valid) in [
        ("{\"maximum\":9007199254740993}", "9007199254740993", true),
        ("{\"maximum\":9007199254740992}", "9007199254740993", false),
        ("{\"multipleOf\":0.01}", "19.99", true),
        ("{\"multipleOf\":0.1}", "1.05", false),
        ("{\"type\":\"integer\"}", "1.0", true),
        ("{\"type\":\"integer\"}", "1e400", true),
        ("{\"const\":1}", "1.000", true),
        ("{\"const\":100}", "1e2", true),
        ("{\"uniqueItems\":true}", "[1,1.0]", false),
        ("{\"uniqueItems\":true}", "[100,1e2]", false),
        ("{\"uniqueItems\":true}", "[\"1\",1]", true),
        ("{\"minimum\":1e-400}", "0", false),
    ] {
        let told = messages(&large(schema), &large(value));
        assert_eq!(told.is_empty(), is_valid, "{schema} {value}: {told:?}");
    }
}

fn instance() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-3_i64..4).prop_map(|n| json!(n)),
        prop::sample::select(vec![0.5, 1.5, 2.0]).prop_map(|n| json!(n)),
        prop::sample::select(vec!["", "a", "b", "ab", "aé", "2026-01-01", "x@y.org"])
            .prop_map(|text| json!(text)),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map("[abc]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn keyword(inner: BoxedStrategy<Value>) -> impl Strategy<Value = (String, Value)> {
    let kinds = ["null", "boolean", "number", "integer", "string", "array", "object"];
    let name = || prop::sample::select(vec!["a", "b", "c"]);
    let list = prop::collection::vec(inner.clone(), 1..4).prop_map(Value::Array);
    let map = |inner: BoxedStrategy<Value>| {
        prop::collection::btree_map("[abc]", inner, 0..3)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
    };
    let names = prop::collection::btree_set(name(), 0..3).prop_map(|set| json!(set));
    let pair = |key: &'static str| move |value: Value| (key.to_owned(), value);
    let small = || (0_u64..4).prop_map(|n| json!(n));
    let number = || prop::sample::select(vec![json!(0), json!(1), json!(1.5), json!(2)]);
    let simple = prop_oneof![
        prop::sample::select(kinds.to_vec()).prop_map(|kind| json!(kind)).prop_map(pair("type")),
        prop::collection::btree_set(prop::sample::select(kinds.to_vec()), 1..4)
            .prop_map(|set| json!(set))
            .prop_map(pair("type")),
        instance().prop_map(pair("const")),
        prop::collection::vec(instance(), 1..4).prop_map(Value::Array).prop_map(pair("enum")),
        number().prop_map(pair("minimum")),
        number().prop_map(pair("maximum")),
        number().prop_map(pair("exclusiveMinimum")),
        number().prop_map(pair("exclusiveMaximum")),
        prop::sample::select(vec![json!(1), json!(0.5), json!(2)]).prop_map(pair("multipleOf")),
        small().prop_map(pair("minLength")),
        small().prop_map(pair("maxLength")),
        prop::sample::select(vec!["^a", "b$", "[ab]{2}", "^(?=a).*é", "\\w"])
            .prop_map(|it| json!(it))
            .prop_map(pair("pattern")),
        prop::sample::select(vec!["date", "email", "regex", "uri-reference", "nobody"])
            .prop_map(|it| json!(it))
            .prop_map(pair("format")),
        small().prop_map(pair("minItems")),
        small().prop_map(pair("maxItems")),
        any::<bool>().prop_map(Value::Bool).prop_map(pair("uniqueItems")),
        small().prop_map(pair("minProperties")),
        small().prop_map(pair("maxProperties")),
        names.clone().prop_map(pair("required")),
        (name(), names)
            .prop_map(|(it, all)| json!({ it: all }))
            .prop_map(pair("dependentRequired")),
        small().prop_map(pair("minContains")),
        small().prop_map(pair("maxContains")),
        prop::sample::select(vec!["#", "#/$defs/a", "#/$defs/b"])
            .prop_map(|it| json!(it))
            .prop_map(pair("$ref")),
    ];
    let schema = |keys: Vec<&'static str>, inner: BoxedStrategy<Value>| {
        (prop::sample::select(keys), inner).prop_map(|(key, value)| (key.to_owned(), value))
    };
    let locations = vec![
        "items",
        "contains",
        "additionalProperties",
        "propertyNames",
        "not",
        "if",
        "then",
        "else",
        "unevaluatedItems",
        "unevaluatedProperties",
    ];
    prop_oneof![
        3 => simple,
        3 => schema(locations, inner.clone()),
        2 => schema(vec!["allOf", "anyOf", "oneOf", "prefixItems"], list.boxed()),
        2 => schema(vec!["properties", "dependentSchemas"], map(inner.clone()).boxed()),
        1 => (prop::sample::select(vec!["^a", "b|c"]), inner)
            .prop_map(|(pattern, schema)| json!({ pattern: schema }))
            .prop_map(pair("patternProperties")),
    ]
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => Just(json!({ "type": "string" })),
        2 => Just(json!({ "minimum": 1 })),
        1 => Just(json!({ "required": ["a"] })),
        1 => any::<bool>().prop_map(Value::Bool),
    ];
    let one = leaf.prop_recursive(4, 24, 4, |inner| {
        prop::collection::vec(keyword(inner.boxed()), 1..5)
            .prop_map(|pairs| Value::Object(pairs.into_iter().collect()))
    });
    let one = one.boxed();
    (one.clone(), one.clone(), one).prop_map(|(mut root, a, b)| {
        if let Value::Object(members) = &mut root {
            members.insert("$defs".to_owned(), json!({ "a": a, "b": b }));
        }
        root
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    /// Wherever both give a verdict, it is the same.
    #[test]
    fn the_library_agrees(schema in schema(), values in prop::collection::vec(instance(), 1..6)) {
        let Ok(ours) = Schema::compile(&schema) else { return Ok(()) };
        let options = jsonschema::draft202012::options().should_validate_formats(true);
        let oracle = options.build(&schema);
        prop_assert!(oracle.is_ok(), "{schema}");
        let oracle = oracle.unwrap();
        for value in values {
            let told = ours.check(&Json::of(&value).unwrap(), u64::MAX).mismatches;
            prop_assert_eq!(
                told.is_empty(), oracle.is_valid(&value), "{} {} {:?}", &schema, &value, &told
            );
        }
    }
}
