//! Unusual JSON documents, and a comparison of two texts as documents.
//!
//! Documents are generated as text, so that no JSON library limits what a document can be. The
//! tests have their own reader.

use proptest::prelude::*;

/// A text that is JSON by its grammar.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    pub(crate) text: String,
    /// Whether some programs would change it: a repeated key, half of a surrogate pair, a number
    /// with thousands of digits, too many levels.
    pub(crate) is_awkward: bool,
}

/// A depth that is always accepted, even on paths that wrap the document.
const SURE_DEPTH: usize = 120;

pub(crate) fn document() -> impl Strategy<Value = Document> {
    let depth = prop_oneof![
        6 => 0..8_usize,
        1 => 118..132_usize,
        1 => 250..262_usize,
        1 => Just(3_000_usize),
    ];
    (value(), depth).prop_map(|(part, depth)| {
        let (open, close): (String, String) = (0..depth)
            .map(|level| if level % 2 == 0 { ("[", "]") } else { ("{\"d\":", "}") })
            .fold((String::new(), String::new()), |(open, close), (left, right)| {
                (format!("{open}{left}"), format!("{right}{close}"))
            });
        let is_awkward = part.is_awkward || part.depth + depth > SURE_DEPTH;
        Document { text: format!("{open}{}{close}", part.text), is_awkward }
    })
}

#[derive(Debug, Clone)]
struct Part {
    text: String,
    is_awkward: bool,
    depth: usize,
}

fn value() -> impl Strategy<Value = Part> {
    let scalar = prop_oneof![
        prop_oneof![Just("null"), Just("true"), Just("false")].prop_map(plain),
        number(),
        text(),
    ];
    scalar.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|items| {
                let texts: Vec<&str> = items.iter().map(|it| it.text.as_str()).collect();
                combined(format!("[ {} ]", texts.join(" ,")), &items)
            }),
            prop::collection::vec((key(), inner), 0..6).prop_map(object),
        ]
    })
}

fn object(entries: Vec<((String, bool), Part)>) -> Part {
    let mut keys: Vec<String> = entries.iter().map(|((key, _), _)| said(key)).collect();
    let count = keys.len();
    keys.sort();
    keys.dedup();
    let awkward_keys = keys.len() < count || entries.iter().any(|((_, awkward), _)| *awkward);
    let texts: Vec<String> =
        entries.iter().map(|((key, _), value)| format!("{key} :{}", value.text)).collect();
    let values: Vec<Part> = entries.into_iter().map(|(_, value)| value).collect();
    let mut part = combined(format!("{{{}}}", texts.join(",\n")), &values);
    part.is_awkward |= awkward_keys;
    part
}

/// The decoded key, to find repeated ones; halves of surrogate pairs are dropped.
fn said(key: &str) -> String {
    serde_json::from_str(key).unwrap_or_else(|_| key.to_owned())
}

fn combined(text: String, parts: &[Part]) -> Part {
    let depth = 1 + parts.iter().map(|it| it.depth).max().unwrap_or_default();
    Part { text, is_awkward: parts.iter().any(|it| it.is_awkward), depth }
}

fn plain(text: &str) -> Part {
    Part { text: text.to_owned(), is_awkward: false, depth: 0 }
}

fn number() -> impl Strategy<Value = Part> {
    let digits = prop_oneof![
        4 => "-?(0|[1-9][0-9]{0,4})",
        2 => "-?(0|[1-9][0-9]{15,40})",
        2 => "-?(0|[1-9][0-9]{0,20})\\.[0-9]{1,40}",
        2 => "-?[1-9](\\.[0-9]{1,5})?[eE][-+]?[0-9]{1,3}",
    ];
    let usual = digits.prop_map(|it| plain(&it));
    let fixed = [
        "-0",
        "-0.0",
        "0e5",
        "1.0",
        "1e2",
        "1E+400",
        "5e-324",
        "1.7976931348623157e308",
        "9007199254740993",
        "18446744073709551616",
        "0.1e1",
        "100000000000000000000.00000000000000000001",
    ];
    let fixed = prop::sample::select(fixed.to_vec()).prop_map(plain);
    let huge = prop::sample::select(vec![
        "1e5000",
        "1e5001",
        "-1e-5001",
        "0e99999",
        "1e999999999999999999999",
    ]);
    let huge = huge.prop_map(|it| Part { is_awkward: true, ..plain(it) });
    let long = (4_000..12_000_usize)
        .prop_map(|count| Part { is_awkward: true, ..plain(&format!("1{}", "7".repeat(count))) });
    prop_oneof![8 => usual, 3 => fixed, 1 => huge, 1 => long]
}

/// A quoted text, and whether it contains half of a surrogate pair.
fn quoted() -> impl Strategy<Value = (String, bool)> {
    let piece = prop_oneof![
        6 => "[ -!#-\\[\\]-~]{0,6}".prop_map(|it| (it, false)),
        2 => "\\PC{0,4}".prop_map(|it| (it.replace(['"', '\\'], "é"), false)),
        2 => prop::sample::select(vec![
            "\\n", "\\\"", "\\\\", "\\/", "\\b", "\\f", "\\r", "\\t", "\\u0000", "\\u001F", "\\u00e9",
            "\\uD83D\\uDE00", "\\u2028", "\\uFFFE", "\u{7f}", "\u{2029}", "😀", "ﷺ",
        ])
        .prop_map(|it| (it.to_owned(), false)),
        1 => prop::sample::select(vec!["\\ud800", "\\uDC00", "\\ude00\\ud83d", "\\ud83dx", "\\ud83d\\n"])
            .prop_map(|it| (it.to_owned(), true)),
    ];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| {
        let text: String = pieces.iter().map(|(text, _)| text.as_str()).collect();
        (format!("\"{text}\""), pieces.iter().any(|(_, awkward)| *awkward))
    })
}

fn text() -> impl Strategy<Value = Part> {
    quoted().prop_map(|(text, is_awkward)| Part { text, is_awkward, depth: 0 })
}

fn key() -> impl Strategy<Value = (String, bool)> {
    let names = prop::sample::select(vec![
        "\"a\"",
        "\"\\u0061\"",
        "\"status\"",
        "\"headers\"",
        "\"body\"",
        "\"ok\"",
        "\"error\"",
        "\"$serde_json::private::Number\"",
        "\"$serde_json::private::RawValue\"",
        "\"__proto__\"",
        "\"\"",
        "\"0\"",
    ]);
    prop_oneof![3 => names.prop_map(|it| (it.to_owned(), false)), 2 => quoted()]
}

/// A canonical form: two texts of the same document give the same. The order of members and the
/// notation of numbers do not count. `None` if it is not JSON.
pub(crate) fn canonical(text: &str) -> Option<String> {
    let mut reader = Reader { rest: text };
    let value = reader.value()?;
    reader.blanks();
    reader.rest.is_empty().then_some(value)
}

struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\n', '\r', '\t']);
    }

    fn eat(&mut self, token: &str) -> bool {
        self.blanks();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self) -> Option<String> {
        if self.eat("{") {
            let mut members = Vec::new();
            while !self.eat("}") {
                if !members.is_empty() && !self.eat(",") {
                    return None;
                }
                let name = self.string()?;
                members.push(format!("{name:?}:{}", self.eat(":").then(|| self.value())??));
            }
            members.sort();
            return Some(format!("{{{}}}", members.join(",")));
        }
        if self.eat("[") {
            let mut items = Vec::new();
            while !self.eat("]") {
                if !items.is_empty() && !self.eat(",") {
                    return None;
                }
                items.push(self.value()?);
            }
            return Some(format!("[{}]", items.join(",")));
        }
        for word in ["null", "true", "false"] {
            if self.eat(word) {
                return Some(word.to_owned());
            }
        }
        if self.rest.starts_with('"') {
            return self.string().map(|text| format!("{text:?}"));
        }
        let end = self.rest.find(|c: char| !"+-.eE0123456789".contains(c));
        let (digits, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        decimal(digits)
    }

    fn string(&mut self) -> Option<String> {
        self.eat("\"").then_some(())?;
        let mut units: Vec<u16> = Vec::new();
        let mut buffer = [0; 2];
        loop {
            let c = self.rest.chars().next()?;
            self.rest = &self.rest[c.len_utf8()..];
            match c {
                '"' => return String::from_utf16(&units).ok(),
                '\\' => {
                    let escaped = self.rest.chars().next()?;
                    self.rest = &self.rest[escaped.len_utf8()..];
                    let unit = match escaped {
                        'b' => 8,
                        'f' => 12,
                        'n' => 10,
                        'r' => 13,
                        't' => 9,
                        'u' => {
                            let (digits, rest) = self.rest.split_at_checked(4)?;
                            self.rest = rest;
                            u16::from_str_radix(digits, 16).ok()?
                        }
                        other => u16::try_from(u32::from(other)).ok()?,
                    };
                    units.push(unit);
                }
                c => units.extend_from_slice(c.encode_utf16(&mut buffer)),
            }
        }
    }
}

/// Sign, digits without leading and trailing zeros, and the exponent of the last digit.
fn decimal(text: &str) -> Option<String> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i64 = exponent.strip_prefix('+').unwrap_or(exponent).parse().ok()?;
    let (sign, digits) = mantissa.strip_prefix('-').map_or(("", mantissa), |it| ("-", it));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    let kept = all.trim_end_matches('0');
    let zeros = i64::try_from(all.len() - kept.len()).ok()?;
    let power = exponent - i64::try_from(fraction.len()).ok()? + zeros;
    let kept = kept.trim_start_matches('0');
    if kept.is_empty() {
        return Some("0".to_owned());
    }
    kept.bytes().all(|it| it.is_ascii_digit()).then(|| format!("{sign}{kept}e{power}"))
}
