//! Properties of documents, for any input: what enters leaves unchanged, or is refused.

use meantime_core::Json;
use meantime_core::json::{
    InvalidJson, InvalidKind, Policy, Reader, TextLayout, Token, WriteLimit, Writer, from_str,
};
use proptest::prelude::*;
use proptest::sample::select;

/// `PROPTEST_CASES` asks for more than the 256 of a normal run.
fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

/// Pieces of JSON, good and bad.
const PIECES: [&str; 36] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\"a\"",
    "\"b\":",
    "\"a\":1,",
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1.50",
    "-1e400",
    "1E+5",
    "1e5001",
    "01",
    "1.",
    "\\u0041",
    "\\ud800",
    "\\udc00",
    "\\n",
    "\\x",
    "é",
    "😀",
    " ",
    "\n",
    "\t",
    "\u{1}",
    "\u{7f}",
    "\u{feff}",
    "\"\\ud83d\\ude00\"",
    "/",
];

fn pieces() -> impl Strategy<Value = String> {
    prop::collection::vec(select(&PIECES[..]), 0..24).prop_map(|pieces| pieces.concat())
}

/// Documents, most of which are good; keys may stand twice.
fn document() -> impl Strategy<Value = String> {
    let key = || select(&["a", "b", "c", "d", "\\u0061", "é", ""][..]);
    let scalar = prop_oneof![
        select(&["null", "true", "false", "\"\"", "\"\\ud83d\\ude00\"", "\"\\udc00\""][..])
            .prop_map(str::to_owned),
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?",
        "[a-zé😀 ]{0,12}".prop_map(|text| format!("\"{text}\"")),
    ];
    scalar.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6)
                .prop_map(|items| format!("[ {} ]", items.join(" ,"))),
            prop::collection::vec((key(), inner), 0..6).prop_map(|entries| {
                let entries = entries.iter().map(|(key, value)| format!("\"{key}\" : {value}"));
                format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
            }),
        ]
    })
}

/// Writes what is read, token by token.
fn rewritten(text: &str, layout: TextLayout<'_>) -> Result<String, WriteLimit> {
    let (mut reader, mut writer) =
        (Reader::new(text, Policy::Unchanged), Writer::new(layout, usize::MAX));
    while let Ok(token) = reader.next_token() {
        match token {
            Token::Null => writer.null()?,
            Token::Bool(value) => writer.bool(value)?,
            Token::Number(digits) => writer.number(digits)?,
            Token::Text(text) => writer.text(&text.decode())?,
            Token::Key(name) => writer.key(&name.decode())?,
            Token::List => writer.list()?,
            Token::EndOfList => writer.end_of_list(),
            Token::Object => writer.object()?,
            Token::EndOfObject => writer.end_of_object(),
            Token::End => break,
        }
    }
    writer.into_text()
}

fn tokens(text: &str, policy: Policy) -> Result<Vec<Token<'_>>, InvalidJson> {
    let (mut reader, mut found) = (Reader::new(text, policy), Vec::new());
    loop {
        match reader.next_token()? {
            Token::End => return Ok(found),
            token => found.push(token),
        }
    }
}

/// What a script parses is a superset of documents: the same grammar, and the same tokens.
fn check_policies(text: &str) {
    let (document, parsed) = (tokens(text, Policy::Unchanged), tokens(text, Policy::EcmaScript));
    match (&document, &parsed) {
        (Ok(document), parsed) => assert_eq!(parsed.as_ref(), Ok(document), "{text}"),
        (Err(error), Err(other)) if error.kind() == InvalidKind::NotJson => {
            assert_eq!(error, other, "{text}");
        }
        (Err(error), Ok(_)) => assert_eq!(error.kind(), InvalidKind::Unsupported, "{text}"),
        (Err(_), Err(_)) => {}
    }
    // It takes keys that stand twice and all numbers too, and refuses halves of surrogate pairs.
    let elsewhere = serde_json::from_str::<serde_json::Value>(text);
    assert_eq!(parsed.is_ok(), elsewhere.is_ok(), "{text}: {parsed:?}");
}

fn check(text: &str) {
    check_policies(text);
    let elsewhere = serde_json::from_str::<serde_json::Value>(text);
    let json = match Json::parse(text) {
        Ok(json) => json,
        Err(error) => {
            // What is refused by name is JSON, or is wrong only after that place.
            assert!(error.code() == "unsupported_json" || elsewhere.is_err(), "{text}: {error}");
            return;
        }
    };
    assert_eq!(json.as_str(), text.trim_matches([' ', '\n', '\r', '\t']));
    assert_eq!(serde_json::to_string(&json).ok().as_deref(), Some(json.as_str()));
    assert_eq!(from_str::<Json>(text, Json::MAX_DEPTH).as_ref(), Ok(&json));
    let elsewhere = elsewhere.expect("JSON");
    for indent in [None, Some("  ")] {
        let layout = TextLayout { indent, spaced: indent.is_some(), breaks_empty: false };
        let again = rewritten(text, layout).expect("it has been read");
        let read = serde_json::from_str::<serde_json::Value>(&again).expect("it is JSON");
        assert_eq!(read, elsewhere, "{text} became {again}");
        assert!(Json::parse(&again).is_ok(), "{again}");
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_enters_leaves_unchanged_or_is_refused(text in document()) {
        check(&text);
    }

    #[test]
    fn any_text_is_read_or_refused(text in prop_oneof![pieces(), any::<String>()]) {
        check(&text);
    }

    #[test]
    fn any_text_is_written_and_read_back(text in any::<String>()) {
        let json = Json::text(&text);
        prop_assert_eq!(json.read::<String>(), Ok(text.clone()));
        prop_assert_eq!(serde_json::to_string(&text).unwrap_or_default(), json.to_string());
    }
}
