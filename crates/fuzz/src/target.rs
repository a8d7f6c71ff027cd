//! The targets: one for each parser, evaluator, decoder and formatter.

use std::str::FromStr as _;
use std::sync::{Mutex, PoisonError};

use meantime_bpmn::Bpmn;
use meantime_core::time::{Cron, Cycle, Span, Timestamp, Zone};
use meantime_core::{Json, Limits, SourceFile};
use meantime_dataweave::{EvalContext, EvalLimits, Script};
use meantime_flow::Flow;
use meantime_journey::JourneyNotation;
use meantime_script::{EmbeddedEnvironment, compile_embedded};
use meantime_value::json::{Layout, read, write};
use meantime_value::{Number, Pattern, Value};

use crate::case_random::CaseRandom;
use crate::seed_inputs::{self, read_fenced_blocks, read_hostile, read_lines};
use crate::{notation, request, stored, surface};

/// Budget of one evaluation, in operations.
const MAX_OPS: u64 = 200_000;

/// A function that gets generated texts.
#[derive(Debug)]
pub struct Target {
    /// The name on the command line.
    pub name: &'static str,
    /// Words of the language to insert into texts.
    pub(crate) words: &'static [&'static str],
    pub(crate) run: fn(&str, &mut CaseRandom),
    seeds: fn() -> Vec<String>,
    /// The seeds, after they have been read.
    read: Mutex<Option<Vec<String>>>,
}

impl Target {
    const fn new(
        name: &'static str,
        words: &'static [&'static str],
        seeds: fn() -> Vec<String>,
        run: fn(&str, &mut CaseRandom),
    ) -> Self {
        Self { name, words, run, seeds, read: Mutex::new(None) }
    }

    pub(crate) fn seeds(&self) -> Vec<String> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.get_or_insert_with(self.seeds).clone()
    }

    /// The target with this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }
}

/// Every target.
pub static TARGETS: [Target; 18] = [
    Target::new("json", JSON_WORDS, json_seeds, fuzz_json),
    Target::new("number", NUMBER_WORDS, number_seeds, fuzz_number),
    Target::new("time", TIME_WORDS, time_seeds, fuzz_time),
    Target::new("pattern", PATTERN_WORDS, pattern_seeds, fuzz_pattern),
    Target::new("dataweave", DATAWEAVE_WORDS, dataweave_seeds, fuzz_dataweave),
    Target::new("format", FORMAT_WORDS, format_seeds, fuzz_format),
    Target::new("feel", FEEL_WORDS, feel_seeds, fuzz_feel),
    Target::new("script", SCRIPT_WORDS, script_seeds, fuzz_script),
    Target::new("schema", SCHEMA_WORDS, schema_seeds, fuzz_schema),
    Target::new("journey", JOURNEY_WORDS, journey_seeds, fuzz_journey),
    Target::new("bpmn", BPMN_WORDS, bpmn_seeds, fuzz_bpmn),
    Target::new("flow", SCRIPT_WORDS, flow_seeds, fuzz_flow),
    Target::new("openapi", OPENAPI_WORDS, openapi_seeds, fuzz_openapi),
    Target::new("surface", JOURNEY_WORDS, journey_seeds, fuzz_surface),
    Target::new("row", &["00", "ff", "9f", "bf", "a1"], stored::row_seeds, stored::fuzz_row),
    Target::new("log", &["1 ", "3 ", "9 "], stored::log_seeds, stored::fuzz_log),
    Target::new("form", request::FORM_WORDS, request::form_seeds, request::fuzz_form),
    Target::new("id", request::ID_WORDS, request::id_seeds, request::fuzz_id),
];

fn to_strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

const JSON_WORDS: &[&str] =
    &["{\"a\":", "[1,", "]", "}", "\\u0041", "\\ud83d\\ude00", "\"", "1e", "-", ".5", "true"];

fn json_seeds() -> Vec<String> {
    to_strings(&[
        "{\"a\":[1,2.5,-3e7,null,true,\"x\\n\\u00e9\"],\"b\":{\"c\":{}}}",
        "[[[[1]]],{\"k\":\"v\",\"k\":\"w\"}]",
        "123456789012345678901234567890.123456789e-10",
    ])
}

fn fuzz_json(text: &str, _: &mut CaseRandom) {
    let _ = Json::parse(text);
    let Ok(value) = read(text) else { return };
    let Ok(written) = write(&value, Layout::Compact, 1 << 20) else { return };
    let again = read(&written).map(|it| write(&it, Layout::Compact, 1 << 20));
    assert_eq!(again.ok().and_then(Result::ok), Some(written), "what is written reads back");
    let _ = write(&value, Layout::Indented, 1 << 20);
}

const NUMBER_WORDS: &[&str] = &["1", "0", "9", "e", "E+", "-", ".", "000000", " ", "99999999"];

fn number_seeds() -> Vec<String> {
    to_strings(&[
        "1 2",
        "1e3 -7.25",
        "0.1 0.2",
        "1e4999 1e-4999",
        "9223372036854775807 -1",
        "2 200",
    ])
}

fn fuzz_number(text: &str, _: &mut CaseRandom) {
    let mut parts = text.split_whitespace().filter_map(|it| Number::from_str(it).ok());
    let (Some(a), Some(b)) = (parts.next(), parts.next()) else { return };
    for result in [a.add(&b), a.sub(&b), a.mul(&b), a.div(&b), a.rem(&b), a.pow(&b), a.sqrt()] {
        let Ok(result) = result else { continue };
        let _ = (result.to_string(), result.to_plain_string(), result.to_f64(), result.to_i64());
        let _ = result.neg().abs().cmp(&a);
    }
}

const TIME_WORDS: &[&str] =
    &["P", "T", "Y", "M", "W", "D", "H", "S", "Z", "+01:00", "[Europe/Berlin]", "/", "R", "*", "L"];

fn time_seeds() -> Vec<String> {
    to_strings(&[
        "P1Y2M3DT4H5M6.789S",
        "2026-01-31T10:00:00Z",
        "2026-01-31T10:00:00.123456789+02:00",
        "R3/2026-01-01T00:00:00Z/P1M",
        "R/PT1H",
        "0 0 1 * *",
        "*/5 8-18 * * MON-FRI",
        "@daily",
        "Europe/Berlin",
        "0 0 L * *",
    ])
}

fn fuzz_time(text: &str, _: &mut CaseRandom) {
    let _ = Timestamp::parse(text).map(|it| format!("{it}"));
    let _ = Span::parse(text).map(|it| format!("{it}"));
    let _ = Span::parse_delay(text);
    let _ = Zone::parse(text).map(|it| format!("{it}"));
    if let Ok(cycle) = Cycle::parse(text) {
        let _ = cycle.to_string();
    }
    if let Ok(cron) = Cron::parse(text) {
        let _ = cron.to_string();
    }
}

const PATTERN_WORDS: &[&str] = &[
    "(", ")", "(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "[", "]", "[^", "&&", "*", "+", "?",
    "{2,5}", "{1000}", "|", "\\1", "\\d", "\\w", "\\b", "\\p{L}", "\\Q", "\\E", "(?i)", "^", "$",
    ".", "*+",
];

fn pattern_seeds() -> Vec<String> {
    to_strings(&[
        "^[a-z]+$",
        "(a|b)*c",
        "(?=a)\\w+(?<!x)",
        "(\\w)\\1",
        "[\\p{L}&&[^a]]{1,3}?",
        "a*+b",
    ])
}

fn fuzz_pattern(text: &str, random: &mut CaseRandom) {
    let Ok(pattern) = Pattern::new(text) else { return };
    let subjects = ["", "aaaaaaaaaaaaaaaaaaaaaaaa", "abcé😀\n x1", "The quick brown fox 42!"];
    let subject = random.pick(&subjects).unwrap_or_default();
    let mut ops = MAX_OPS;
    if let Ok(found) = pattern.matches(subject, &mut ops) {
        assert!(found.iter().all(|it| it.groups().next().flatten().is_some()), "a match has text");
    }
    let _ = pattern.match_whole(subject, &mut ops);
    let _ = pattern.is_match(subject, &mut ops);
}

const DATAWEAVE_WORDS: &[&str] = &[
    " map ",
    " filter ",
    " reduce ",
    " groupBy ",
    " orderBy ",
    " distinctBy ",
    " pluck ",
    " as ",
    " is ",
    " default ",
    " match { case ",
    " -> ",
    "do { var x = ",
    " --- ",
    "fun f(x) = ",
    "payload",
    "context",
    "$",
    "$$",
    " ++ ",
    " -- ",
    " to ",
    "|2026-01-01|",
    "|P1D|",
    "/a+/",
    "String",
    "Number",
    "{format: \"0.0\"}",
    "sizeOf(",
    "if (",
    ") else ",
    "upper(",
    "..",
    ".*",
    "[0 to -1]",
    " update { case .a -> ",
    " joinBy ",
    " splitBy ",
    " replace ",
    " with ",
    "dw::core::Strings::",
    "repeat(",
    "substring(",
    "now()",
    "uuid()",
    "write(",
    "read(",
    "type T = ",
    " | ",
    "@(",
    "?",
];

fn dataweave_seeds() -> Vec<String> {
    let mut seeds = read_hostile("dataweave");
    seeds.extend(to_strings(&[
        "payload.items map ((it, i) -> {id: it.id, n: i}) filter $.n > 0",
        "{a: 1, (b: 2) if (true), \"c d\": [1, 2, 3][-1 to 0]}",
        "payload match { case x is String -> x case {a: y} -> y else -> null }",
        "%dw 2.0\noutput application/json\nvar f = (x) -> x + 1\n---\nf(1) as String {format: \"000.00\"}",
        "|2026-01-31T10:00:00Z| + |P1M| as String {format: \"yyyy-MM-dd'T'HH:mm:ss\"}",
        "payload update { case .a.b -> $ ++ \"x\" }",
        "(payload.items orderBy -$.id) groupBy $.kind",
    ]));
    seeds
}

fn fuzz_dataweave(text: &str, random: &mut CaseRandom) {
    let compilation = Script::compile(text, &["payload", "context"]);
    let Some(script) = compilation.script else { return };
    let limits = EvalLimits { ops: MAX_OPS, output_bytes: 1 << 16, ..EvalLimits::default() };
    let context = EvalContext { now: Timestamp::from_millis(0), seed: random.next_u64(), limits };
    let document = "{\"a\":{\"b\":\"x\"},\"items\":[{\"id\":1,\"kind\":\"k\"},{\"id\":2.5}],\"t\":\"2026-01-01\"}";
    let value = read(document).unwrap_or_default();
    let inputs = vec![value.clone(), value];
    let first = script.evaluate_to_json(inputs.clone(), &context);
    let second = script.evaluate_to_json(inputs, &context);
    assert_eq!(first, second, "the same gives the same");
}

const FORMAT_WORDS: &[&str] = &[
    "0", "#", ",", ".", "%", "E0", "E00", ";", "'", "y", "M", "d", "H", "m", "s", "S", "V", "X",
    "a", "G", "Q", "w", "e", "n", "p", "[", "]", "‰", "yyyy", "MMM", "EEE",
];

fn format_seeds() -> Vec<String> {
    to_strings(&[
        "#,##0.00",
        "0.###E0",
        "0.00;(0.00)",
        "##0.##E0",
        "yyyy-MM-dd'T'HH:mm:ss.SSS",
        "[HH][:mm]",
        "EEEE, d. MMMM uuuu",
        "'week' w 'of' YYYY",
        "ppppd",
        "0%",
    ])
}

/// Uses the text as a pattern of numbers or dates, for writing and for reading.
fn fuzz_format(text: &str, random: &mut CaseRandom) {
    let scripts = [
        "payload.n as String {format: payload.f}",
        "payload.t as Number {format: payload.f}",
        "payload.d as DateTime as String {format: payload.f}",
        "payload.t as Date {format: payload.f}",
    ];
    let limits = EvalLimits { ops: MAX_OPS, ..EvalLimits::default() };
    let context = EvalContext { now: Timestamp::from_millis(0), seed: 1, limits };
    let numbers = ["1234567.891", "-0.005", "0", "1e300", "-1e-300", "12"];
    let texts = ["1,234.5", "2026-01-31", "12:30", "(5.00)", "x"];
    let n = random.pick(&numbers).unwrap_or("0").parse::<Number>().unwrap_or(Number::ZERO);
    let mut payload = meantime_value::Object::default();
    payload.insert("n", Value::Number(n));
    payload.insert("t", random.pick(&texts).unwrap_or_default());
    payload.insert("d", "2026-01-31T10:00:00.123+02:00");
    payload.insert("f", text);
    for text in scripts {
        if let Some(script) = Script::compile(text, &["payload"]).script {
            let _ = script.evaluate_to_json(vec![Value::object(payload.clone())], &context);
        }
    }
}

const FEEL_WORDS: &[&str] = &[
    "for ",
    " in ",
    " return ",
    "some ",
    "every ",
    " satisfies ",
    "if ",
    " then ",
    " else ",
    "[1..3]",
    "(",
    ")",
    "{a: ",
    "}",
    "function(x) ",
    " instance of ",
    "date(\"",
    "duration(\"",
    "@\"",
    "..",
    " and ",
    " or ",
    "not(",
    " between ",
    "partial",
    "sort(",
    "flatten(",
    "replace(",
    "matches(",
    "split(",
    "**",
    "count(",
    "string(",
    "context put(",
    "get value(",
    "decimal(",
    "sublist(",
    ".year",
    "[item > 1]",
];

fn feel_seeds() -> Vec<String> {
    let mut seeds = read_lines("crates/feel/tests/feel/cases.txt");
    seeds.extend(read_hostile("feel"));
    seeds
}

fn fuzz_feel(text: &str, _: &mut CaseRandom) {
    let text = text.split(" => ").next().unwrap_or(text);
    let Ok(program) = meantime_feel::compile(text) else { return };
    let value = read("{\"b\":[1,2,{\"c\":\"x\"}],\"t\":\"2026-01-01\"}").unwrap_or_default();
    let environment =
        meantime_feel::Environment { now: Some(Timestamp::from_millis(0)), ops: MAX_OPS, seed: 1 };
    let names = |name: &str| (name == "a").then(|| value.clone());
    let first = program.evaluate(&names, &environment);
    let second = program.evaluate(&names, &environment);
    assert_eq!(first.ops, second.ops, "the same costs the same");
    if let Ok(value) = first.value {
        let _ = meantime_feel::to_json(&value).map(|it| write(&it, Layout::Compact, 1 << 20));
    }
}

const SCRIPT_WORDS: &[&str] = &[
    "let ",
    "const ",
    "for (let x of ",
    "while (",
    "if (",
    ") { ",
    " }",
    "return ",
    "await ",
    "=> ",
    "function f(a, b = 1, ...c) { ",
    "try { ",
    " } catch (e) { ",
    " } finally { ",
    "throw ",
    "[...",
    "{...",
    "switch (",
    "case ",
    "default: ",
    "break",
    "continue",
    "JSON.stringify(",
    "JSON.parse(",
    ".map(",
    ".sort(",
    ".reduce(",
    ".join(",
    ".split(",
    ".repeat(",
    ".padStart(",
    ".slice(",
    "Math.",
    "Object.entries(",
    "Array.from(",
    "`${",
    "}`",
    "?.",
    "??",
    "===",
    "Task.run(\"t\", ",
    "Timer.delay(",
    "Promise.all([",
    "new Error(",
    "typeof ",
    "toFixed(",
    "Date.now()",
    "Number(",
    "String(",
];

fn script_seeds() -> Vec<String> {
    let mut seeds = read_lines("crates/script/tests/script/stringify.txt");
    seeds.extend(read_hostile("script"));
    seeds.extend(to_strings(&[
        "let a = [3, 1, 2]; a.sort((x, y) => x - y); let {b, ...rest} = {b: 1, c: 2}; return [a, rest]",
        "try { null.x } catch (e) { return e.message } finally { n = 1 }",
        "let s = 0; for (let i = 0; i < 10; i++) { if (i % 2) continue; s += i } return s.toFixed(2)",
        "switch (n) { case 1: return 'one'; default: return `${n} and ${[1, 2].join('-')}` }",
    ]));
    seeds
}

fn fuzz_script(text: &str, _: &mut CaseRandom) {
    let text = text.rsplit_once(" => ").map_or(text, |(script, _)| script);
    let Ok(embedded) = compile_embedded(text) else { return };
    let limits = Limits::default();
    let around = EmbeddedEnvironment { now: Timestamp::from_millis(0), key: None, ops: MAX_OPS };
    let variable =
        |name: &str| (name == "n").then(|| Json::parse("[1,{\"a\":2}]").unwrap_or_default());
    let first = embedded.run(&variable, &around, &limits);
    let second = embedded.run(&variable, &around, &limits);
    assert_eq!(first.1, second.1, "the same costs the same");
}

const SCHEMA_WORDS: &[&str] = &[
    "type: ",
    "object",
    "array",
    "string",
    "number",
    "properties: {a: ",
    "}",
    "items: ",
    "$ref: '#'",
    "$ref: '#/$defs/a'",
    "$defs: {a: ",
    "anyOf: [",
    "]",
    "allOf: [",
    "oneOf: [",
    "not: ",
    "if: ",
    "pattern: '^(?=a)b'",
    "format: email",
    "minimum: 1",
    "multipleOf: 0.1",
    "enum: [1, a]",
    "const: ",
    "unevaluatedProperties: false",
    "required: [a]",
    "contains: ",
    "uniqueItems: true",
    "true",
    ", ",
    "patternProperties: {'^a': ",
    "additionalProperties: ",
    "maxLength: 1e400",
    "dependentSchemas: {a: ",
];

fn schema_seeds() -> Vec<String> {
    to_strings(&[
        "{type: object, required: [a], properties: {a: {type: string, minLength: 1}}}",
        "{$ref: '#/$defs/a', $defs: {a: {anyOf: [{type: object, properties: {b: {$ref: '#/$defs/a'}}}, {type: array}]}}}",
        "{oneOf: [{required: [a]}, {required: [n]}], unevaluatedProperties: {type: [string, number]}}",
        "{properties: {items: {type: array, items: {minimum: 2}, uniqueItems: true, contains: {const: 3}}}}",
        "{patternProperties: {'^(?=n).*$': {pattern: 'x+'}}, additionalProperties: {not: {enum: [1, 2]}}}",
    ])
}

/// Uses the text as the input schema of a journey, which is then started with documents.
fn fuzz_schema(text: &str, random: &mut CaseRandom) {
    let source = format!(
        "apiVersion: v1\nkind: Journey\nmetadata: {{name: x, version: 1.0.0}}\nspec:\n  \
         input:\n    schema: {}\n  start: done\n  states: {{done: {{type: succeed}}}}\n",
        text.replace('\n', " ")
    );
    notation::run_definition(&JourneyNotation::default(), &source, random);
}

const JOURNEY_WORDS: &[&str] = &[
    "type: ",
    "task",
    "wait",
    "timer",
    "choice",
    "parallel",
    "succeed",
    "fail",
    "next: ",
    "states:",
    "start: ",
    "mapper: {lang: dataweave, expr: ",
    "duration: PT1M",
    "until: ",
    "branches:",
    "join:",
    "timeoutSec: 5",
    "onTimeout: ",
    "\n    ",
    "\n      ",
    "- ",
    ": ",
    "{",
    "}",
    "[",
    "]",
    "|",
    "&a",
    "*a",
    "kind: Api",
    "schema: {}",
    "context",
    "${context.a}",
    "spec:",
    "subjourneys:",
    "compensation:",
];

fn journey_seeds() -> Vec<String> {
    let mut seeds = read_fenced_blocks("crates/journey/tests/corpus", "journey");
    seeds.extend(read_fenced_blocks("crates/journey/tests/diagnostics", "journey"));
    seeds.iter().map(|text| seed_inputs::full_journey_source(text)).collect()
}

fn fuzz_journey(text: &str, random: &mut CaseRandom) {
    notation::run_definition(&JourneyNotation::default(), text, random);
}

const BPMN_WORDS: &[&str] = &[
    "<startEvent id=\"s\"/>",
    "<endEvent id=\"e\"/>",
    "<task id=\"t\"/>",
    "<sequenceFlow id=\"f\" ",
    "sourceRef=\"",
    "targetRef=\"",
    "<exclusiveGateway id=\"g\"/>",
    "<parallelGateway id=\"p\"/>",
    "<subProcess id=\"sub\">",
    "</subProcess>",
    "<boundaryEvent id=\"b\" attachedToRef=\"",
    "<timerEventDefinition>",
    "<timeDuration>",
    "= 1 + 1",
    "<multiInstanceLoopCharacteristics>",
    "</process>",
    "<process id=\"x\" isExecutable=\"true\">",
    "<![CDATA[",
    "]]>",
    "&amp;",
    "&#0;",
    "<!--",
];

fn bpmn_seeds() -> Vec<String> {
    let seeds = read_fenced_blocks("crates/bpmn/tests/corpus", "bpmn");
    seeds.iter().map(|text| seed_inputs::full_bpmn_source(text)).collect()
}

fn fuzz_bpmn(text: &str, random: &mut CaseRandom) {
    notation::run_definition(&Bpmn, text, random);
}

fn flow_seeds() -> Vec<String> {
    let seeds = read_fenced_blocks("crates/flow/tests/corpus", "flow");
    seeds.iter().map(|text| seed_inputs::full_flow_source(text)).collect()
}

fn fuzz_flow(text: &str, random: &mut CaseRandom) {
    notation::run_definition(&Flow, text, random);
}

const OPENAPI_WORDS: &[&str] = &[
    "openapi: 3.1.0",
    "servers: [{url: ",
    "variables: {host: {default: ",
    "{host}",
    "paths:",
    "  /accounts/{id}:",
    "get: ",
    "operationId: getAccount",
    "parameters: [{name: id, in: path, required: true}]",
    "$ref: \"#/components/parameters/Tenant\"",
    "$ref: '#/paths/~1a/get'",
    "components:",
    "in: header",
    "&a",
    "*a",
    "<<: *a",
    "\n  ",
    "- ",
    "{",
    "}",
    "[",
    "]",
];

/// Files of the corpus that journeys refer to.
fn openapi_seeds() -> Vec<String> {
    let mut seeds = read_fenced_blocks("crates/journey/tests/diagnostics", "file");
    seeds.retain(|text| text.contains("openapi"));
    seeds.extend(to_strings(&[
        "{\"openapi\": \"3.0.3\", \"servers\": [{\"url\": \"http://a.test\"}], \"paths\": {\"/x\": \
         {\"post\": {\"operationId\": \"getAccount\"}}}}",
        "openapi: 3.1.0\nservers: [{url: http://a.test/}]\npaths: {/x: &x {get: {operationId: \
         getAccount, parameters: &p [{name: q, in: query, required: true}]}}, /y: {<<: *x}}\n",
    ]));
    seeds
}

/// Uses the text as a file that a journey refers to and whose operation it calls.
fn fuzz_openapi(text: &str, random: &mut CaseRandom) {
    let source = "apiVersion: v1\nkind: Journey\nmetadata: {name: x, version: 1.0.0}\nspec:\n  \
         apis: {bank: {openApiRef: bank.yaml}}\n  start: a\n  states:\n    \
         a: {type: task, task: {kind: httpCall:v1, operationRef: bank.getAccount, params: {path: \
         {id: \"${context.a}\"}, query: {q: 1}, headers: {X-Tenant: t}}, resultVar: r}, \
         next: done}\n    done: {type: succeed}\n";
    let _ = meantime_journey::surface::references(text);
    let files = vec![SourceFile { name: "bank.yaml".to_owned(), text: text.to_owned() }];
    notation::run_source(
        &JourneyNotation::default(),
        source,
        files,
        &|_, _, _, _, _, _| {},
        random,
    );
}

/// Runs a journey, and shows it to clients after every turn.
fn fuzz_surface(text: &str, random: &mut CaseRandom) {
    let _ = meantime_journey::surface::references(text);
    notation::run_source(
        &JourneyNotation::default(),
        text,
        Vec::new(),
        &surface::show_turn,
        random,
    );
}
