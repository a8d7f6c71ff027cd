//! Reads and rewrites a scenario file.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use meantime_core::Limits;
use meantime_core::time::Span;

use super::notations::{NOTATION_BLOCKS, expand_shorthand};

/// A definition in a scenario.
#[derive(Debug, Clone)]
pub struct ScenarioSource {
    /// Its notation.
    pub notation: String,
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// A scenario as it is written.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The path of the file.
    pub path: PathBuf,
    /// The rules it cites.
    pub rules: Vec<String>,
    /// Sources in order.
    pub sources: Vec<ScenarioSource>,
    /// The script's lines.
    pub script: Vec<String>,
    /// The expected trace.
    pub trace: String,
    /// Limits that differ from the defaults.
    pub limits: Limits,
    /// Whether a repeated claim gets the tasks of a claim whose answer was lost, instead of waiting
    /// for the lease to expire: for scenarios that count attempts.
    pub exact_attempts: bool,
    /// How far the clock moves with every commit, in milliseconds.
    pub commit_ms: i64,
}

impl Scenario {
    /// Reads a file.
    pub fn read(path: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(path)?;
        let mut scenario = Self {
            path: path.to_owned(),
            rules: Vec::new(),
            sources: Vec::new(),
            script: Vec::new(),
            trace: String::new(),
            limits: Limits { ops_per_slice: 1_000, ..Limits::default() },
            exact_attempts: false,
            commit_ms: 0,
        };
        let mut block: Option<(String, Vec<&str>)> = None;
        for line in text.lines() {
            match (&mut block, line.strip_prefix("```")) {
                (Some(_), Some(_)) => {
                    if let Some((kind, lines)) = block.take() {
                        scenario.add_block(&kind, &lines);
                    }
                }
                (Some((_, lines)), None) => lines.push(line),
                (None, Some(kind)) => block = Some((kind.trim().to_owned(), Vec::new())),
                (None, None) => scenario.add_setting(line),
            }
            if let (None, Some(source)) = (&block, line.strip_prefix("source:")) {
                scenario.add_file(source)?;
            }
        }
        Ok(scenario)
    }

    fn add_block(&mut self, kind: &str, lines: &[&str]) {
        let text = lines.join("\n");
        match kind.split_whitespace().collect::<Vec<_>>()[..] {
            [kind, name] if NOTATION_BLOCKS.contains(&kind) => self.add_source(kind, name, text),
            [kind] if NOTATION_BLOCKS.contains(&kind) => self.add_source(kind, "main", text),
            ["script"] => self.script = lines.iter().map(|line| (*line).to_owned()).collect(),
            ["trace"] => self.trace = text,
            _ => {}
        }
    }

    fn add_source(&mut self, notation: &str, name: &str, text: String) {
        let text = expand_shorthand(notation, text);
        let (notation, name) = (notation.to_owned(), name.to_owned());
        self.sources.push(ScenarioSource { notation, name, text });
    }

    /// A source in a file of its own beside the scenario: `source: NOTATION PATH`.
    fn add_file(&mut self, source: &str) -> io::Result<()> {
        if let [notation, path] = source.split_whitespace().collect::<Vec<_>>()[..] {
            let path = self.path.parent().unwrap_or(Path::new(".")).join(path);
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let name = name.split('.').next().unwrap_or_default().to_owned();
            self.add_source(notation, &name, fs::read_to_string(&path)?);
        }
        Ok(())
    }

    fn add_setting(&mut self, line: &str) {
        if let Some(rules) = line.strip_prefix("rules:") {
            self.rules = rules.split(',').map(|rule| rule.trim().to_owned()).collect();
        } else if line.trim() == "attempts: exact" {
            self.exact_attempts = true;
        } else if let Some(ms) = line.strip_prefix("commit takes:") {
            self.commit_ms = ms.trim().parse().unwrap_or(0);
        } else if let Some(limits) = line.strip_prefix("limits:") {
            let pairs = limits.split_whitespace().filter_map(|pair| pair.split_once('='));
            let pairs: BTreeMap<&str, &str> = pairs.collect();
            for (name, value) in pairs {
                set_limit(&mut self.limits, name, value);
            }
        }
    }

    /// Writes the actual trace into the file.
    pub fn rewrite(&self, trace: &str) -> io::Result<()> {
        let text = fs::read_to_string(&self.path)?;
        let begin = text.find("```trace\n").map(|at| at + "```trace\n".len());
        let rewritten = match begin {
            Some(begin) => {
                let rest = &text[begin..];
                let end = rest.find("```").map_or(text.len(), |at| begin + at);
                format!("{}{trace}\n{}", &text[..begin], &text[end..])
            }
            None => format!("{}\n\n```trace\n{trace}\n```\n", text.trim_end()),
        };
        fs::write(&self.path, rewritten)
    }
}

fn set_limit(limits: &mut Limits, name: &str, value: &str) {
    let number: usize = value.parse().unwrap_or(0);
    match name {
        "ops_per_slice" => limits.ops_per_slice = number as u64,
        "ops_runaway" => limits.ops_runaway = number as u64,
        "value_bytes" => limits.value_bytes = number,
        "string_bytes" => limits.string_bytes = number,
        "entries" => limits.entries = number,
        "call_depth" => limits.call_depth = number,
        "effects_per_turn" => limits.effects_per_turn = number,
        "payload_bytes" => limits.payload_bytes = number,
        "state_bytes" => limits.state_bytes = number,
        "events_per_turn" => limits.events_per_turn = number,
        "tree_instances" => limits.tree_instances = number as u64,
        "child_depth" => limits.child_depth = u32::try_from(number).unwrap_or(u32::MAX),
        "queued_turns" => limits.queued_turns = number,
        "cache_bytes" => limits.cache_bytes = number,
        "catch_up_runs" => limits.catch_up_runs = number as u64,
        "backfill_runs" => limits.backfill_runs = number as u64,
        "default_deadline" => limits.default_deadline = Span::parse_delay(value).ok(),
        "deadline_cap" => limits.deadline_cap = Span::parse_delay(value).ok(),
        other => panic!("unknown limit {other:?}"),
    }
}
