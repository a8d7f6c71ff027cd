//! Loads YAML fragments of documents that are not part of the repository, without editing them.
//!
//! `cargo xtask conformance journey DOCUMENT…`: every fenced block marked `yaml` is a fragment.
//! Placeholders of a fragment are filled in with every value they allow: `<string|mapper>`, `a |
//! b`, an alternative in a comment below `# xor:`, a list of keys instead of their values. An
//! incomplete fragment is embedded in the smallest document that can contain it.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line prints")]
#![expect(clippy::disallowed_methods, reason = "the command reads files; the crate does not")]

use std::process::ExitCode;

use meantime_core::{Compiled, Limits, Notation, Severity, Source};
use meantime_journey::JourneyNotation;

/// Values for keys that a fragment names without a value, by parent key.
const SAMPLES: [(&str, &str, &str); 25] = [
    ("metadata", "name", "sample"),
    ("metadata", "version", "1.0.0"),
    ("metadata", "description", "A sample"),
    ("metadata", "tags", "[one]"),
    ("spec", "start", "first"),
    ("spec", "states", "{first: {type: succeed}}"),
    ("spec", "apis", "{}"),
    ("spec", "input", "{schema: {type: object}}"),
    ("spec", "output", "{schema: {type: object}}"),
    ("spec", "context", "{schema: {type: object}}"),
    ("spec", "defaults", "{http: {timeoutMs: 1000}}"),
    ("spec", "platform", "{config: {region: {type: string}}}"),
    ("spec", "execution", "{maxDurationSec: 30, onTimeout: {errorCode: LATE, reason: late}}"),
    ("spec", "compensation", "{start: undo, states: {undo: {type: succeed}}}"),
    ("spec", "httpSurface", "{links: {enabled: true}}"),
    ("spec", "lifecycle", "{cancellable: true}"),
    ("spec", "metadata", "{bindings: {tags: {fromPayload: [channel]}}}"),
    ("spec", "mappers", "{same: {lang: dataweave, expr: context}}"),
    ("spec", "errors", "{canonicalFormat: rfc9457}"),
    ("spec", "policies", "{httpResilience: {definitions: {twice: {maxAttempts: 2}}}}"),
    ("spec", "outcomes", "{good: {when: {phase: SUCCEEDED}}}"),
    ("spec", "cookies", "{}"),
    ("spec", "access", "{}"),
    ("spec", "subjourneys", "{inner: {start: ok, states: {ok: {type: succeed}}}}"),
    ("spec", "bindings", "{http: {}}"),
];

/// Literals for keys of which a fragment gives only the kind of value and no example.
const LITERALS: [(&str, &str); 3] =
    [("startAt", "2026-01-01T00:00:00Z"), ("maxRuns", "3"), ("expr", "context")];

fn main() -> ExitCode {
    let (mut fragments, mut by_name, mut wrong) = (0, 0, 0);
    for path in std::env::args().skip(1) {
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("{path}: {error}; nothing of it was checked");
                wrong += 1;
                continue;
            }
        };
        for (line, fragment) in fragments_of(&text) {
            fragments += 1;
            let readings = readings(&fragment);
            println!("{path}:{line}: {} readings", readings.len());
            for reading in readings {
                match classify(&embedded(&reading)) {
                    Verdict::Loads => {}
                    Verdict::Unsupported => by_name += 1,
                    Verdict::Refused => wrong += 1,
                }
            }
        }
    }
    println!(
        "{fragments} fragments; readings refused: {wrong}; only for what is not supported: {by_name}"
    );
    if wrong == 0 && fragments > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The fenced YAML blocks of a document, each with the number of the line before its first.
fn fragments_of(text: &str) -> Vec<(usize, String)> {
    let (mut found, mut open) = (Vec::new(), None::<(usize, String)>);
    for (number, line) in text.lines().enumerate() {
        match (&mut open, line.trim_start()) {
            (Some(_), "```") => found.extend(open.take()),
            (Some((_, fragment)), _) => {
                fragment.push_str(line);
                fragment.push('\n');
            }
            (None, "```yaml") => open = Some((number + 1, String::new())),
            (None, _) => {}
        }
    }
    found
}

/// The alternatives of one line of a fragment, each as the lines that replace it.
type Choices = Vec<Vec<String>>;

/// All texts that a fragment stands for.
fn readings(fragment: &str) -> Vec<String> {
    let mut choices: Vec<Choices> = Vec::new();
    let (mut parent, mut is_alternative) = (String::new(), false);
    for line in fragment.lines() {
        let indentation = &line[..line.len() - line.trim_start().len()];
        if let Some(comment) = line.trim_start().strip_prefix("# ") {
            // An alternative replaces the line before it.
            if is_alternative && let Some(last) = choices.last_mut() {
                last.extend(choices_of(indentation, comment, &parent));
            }
            is_alternative = comment.trim_end() == "xor:";
            continue;
        }
        if !line.trim().is_empty() {
            choices.push(choices_of(indentation, line.trim_start(), &parent));
            if let (true, Some((key, _))) = (indentation.is_empty(), line.split_once(':')) {
                key.clone_into(&mut parent);
            }
        }
    }
    let mut texts = vec![String::new()];
    for choices in choices {
        let with = |text: &String| {
            let lines = |lines: &Vec<String>| format!("{text}{}", lines.concat());
            choices.iter().map(lines).collect::<Vec<_>>()
        };
        texts = texts.iter().flat_map(with).collect();
    }
    texts
}

/// The alternatives of a line.
fn choices_of(indentation: &str, line: &str, parent: &str) -> Choices {
    let (content, comment) = line.split_once(" #").unwrap_or((line, ""));
    let content = content.trim_end();
    let put = |text: String| vec![format!("{indentation}{text}\n")];
    let Some((key, value)) = content.split_once(':') else {
        return keys(indentation, content, parent, comment.contains("optional"));
    };
    let value = value.trim();
    if let Some(open) = value.strip_prefix('<').and_then(|it| it.strip_suffix('>')) {
        let literal = literal(key, comment);
        let value =
            if literal.parse::<u64>().is_ok() { literal.clone() } else { format!("\"{literal}\"") };
        let mapper = format!("{key}: {{mapper: {{lang: dataweave, expr: '{value}'}}}}");
        let filled = open.split('|').map(|kind| match kind {
            "mapper" => mapper.clone(),
            "stateId" => format!("{key}: other"),
            _ => format!("{key}: {literal}"),
        });
        return filled.map(put).collect();
    }
    if let Some(names) = value.strip_prefix('{').and_then(|it| it.strip_suffix('}'))
        && !names.contains(':')
    {
        let all = names.split(',').map(str::trim).collect::<Vec<_>>();
        let entries = |optional: bool| {
            let taken = all.iter().filter(|name| optional || !name.ends_with('?'));
            let entry = |name: &&str| {
                let name = name.trim_end_matches('?');
                format!("{name}: {}", sample(key, name))
            };
            let entries: Vec<String> = taken.map(entry).collect();
            put(format!("{key}: {{{}}}", entries.join(", ")))
        };
        return vec![entries(true), entries(false)];
    }
    let alternatives = value.split(" | ");
    alternatives.map(|value| put(format!("{key}: {value}"))).collect()
}

/// Keys without values: all of them, or none if they are optional.
fn keys(indentation: &str, names: &str, parent: &str, optional: bool) -> Choices {
    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    let entry = |name: &str| format!("{indentation}{name}: {}\n", sample(parent, name));
    let all: Vec<String> = names.map(entry).collect();
    if optional { vec![all, Vec::new()] } else { vec![all] }
}

fn sample(parent: &str, name: &str) -> String {
    let found = SAMPLES.iter().find(|(at, known, _)| *at == parent && *known == name);
    found.map_or_else(|| format!("no sample for {parent}.{name}"), |it| it.2.to_owned())
}

/// The example in the comment, or a default.
fn literal(key: &str, comment: &str) -> String {
    let example = comment.split_once("e.g. \"").and_then(|(_, rest)| rest.split_once('"'));
    let known = LITERALS.iter().find(|(known, _)| *known == key);
    match (example, known) {
        (Some((example, _)), _) => example.to_owned(),
        (None, known) => known.map_or_else(|| "sample".to_owned(), |it| it.1.to_owned()),
    }
}

/// The fragment inside the smallest document that can contain it.
fn embedded(reading: &str) -> String {
    const HEADER: &str = "apiVersion: v1\nkind: Journey\nmetadata: {name: x, version: 1.0.0}\n";
    const REST: &str = "    other: {type: succeed}\n";
    match reading.split(':').next() {
        Some("spec") => {
            format!("{HEADER}{reading}  start: other\n  states:\n{REST}")
        }
        Some("type") => {
            let state = format!("      {}\n", reading.trim_end().replace('\n', "\n      "));
            format!("{HEADER}spec:\n  start: part\n  states:\n    part:\n{state}{REST}")
        }
        _ => reading.to_owned(),
    }
}

/// The result of one reading.
enum Verdict {
    Loads,
    /// All its problems are features that this engine does not support.
    Unsupported,
    Refused,
}

/// Loads it and prints its problems.
fn classify(text: &str) -> Verdict {
    const UNSUPPORTED: &str = "J063";
    let source = Source { name: "fragment".to_owned(), text: text.into(), files: Vec::new() };
    let Compiled { definitions, diagnostics } =
        JourneyNotation::default().compile(&source, &Limits::default());
    let errors: Vec<_> = diagnostics.iter().filter(|it| it.severity == Severity::Error).collect();
    if errors.is_empty() && !definitions.is_empty() {
        return Verdict::Loads;
    }
    if !errors.is_empty() && errors.iter().all(|it| it.code == UNSUPPORTED) {
        for it in errors {
            println!("  not supported: {}", it.message);
        }
        return Verdict::Unsupported;
    }
    println!("refused:\n{text}");
    for it in errors {
        println!("  {} line {}: {}", it.code, it.start.line, it.message);
    }
    Verdict::Refused
}
