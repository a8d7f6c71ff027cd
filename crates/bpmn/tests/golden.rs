//! States that a release has saved must load and finish. Files are added, never edited.
//!
//! A file without a state gets one with `UPDATE_EXPECT=1`: the model is started, the waits in
//! `before` are finished, and the saved state is written to the file together with what is open.

#![expect(clippy::disallowed_methods, reason = "tests read their data")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use meantime_core::{EffectKey, InstanceId, Limits, Outcome, State, Timestamp};

#[path = "support/driver.rs"]
mod driver;
#[path = "support/short.rs"]
mod short;

use driver::{Driver, Open};

#[test]
fn saved_states_load_and_finish() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1");
    let mut paths: Vec<PathBuf> = fs::read_dir(root)
        .expect("golden files are there")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        let mut golden = Golden::read(&path);
        if golden.part("state").is_empty() && std::env::var_os("UPDATE_EXPECT").is_some() {
            golden.make();
            golden.write(&path);
        }
        assert_eq!(golden.play(), golden.part("expected"), "{}", path.display());
    }
}

/// The parts of a file, each below a line `--- NAME`.
struct Golden {
    parts: Vec<(String, String)>,
}

impl Golden {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("a golden file can be read");
        let parts = text.split("--- ").skip(1).map(|part| {
            let (name, text) = part.split_once('\n').unwrap_or((part, ""));
            (name.trim().to_owned(), text.trim().to_owned())
        });
        Self { parts: parts.collect() }
    }

    fn write(&self, path: &Path) {
        let mut text = String::new();
        for (name, part) in &self.parts {
            let _ = write!(text, "--- {name}\n{part}\n");
        }
        fs::write(path, text).expect("a golden file can be written");
    }

    fn part(&self, wanted: &str) -> String {
        let found = self.parts.iter().find(|(name, _)| name == wanted);
        found.map(|(_, text)| text.clone()).unwrap_or_default()
    }

    fn set(&mut self, wanted: &str, text: String) {
        if let Some((_, part)) = self.parts.iter_mut().find(|(name, _)| name == wanted) {
            *part = text;
        }
    }

    /// Runs up to the state that is kept.
    fn make(&mut self) {
        let model = short::full(&self.part("model"));
        let mut driver = Driver::start(&model, &self.part("input"), Limits::default());
        for line in self.part("before").lines() {
            driver.finish(key(line));
        }
        let mut hex = String::new();
        for (number, byte) in driver.state.bytes.iter().enumerate() {
            let end = if number % 40 == 39 { "\n" } else { "" };
            let _ = write!(hex, "{byte:02x}{end}");
        }
        let open = driver.open.iter().map(|(key, open)| {
            let what = match open {
                Open::Task => "task".to_owned(),
                Open::Timer(due_at) => format!("timer {due_at}"),
                Open::Wait => "wait".to_owned(),
                Open::Child => "child".to_owned(),
            };
            format!("{}.{} {what}", key.turn_no, key.ordinal)
        });
        let open: Vec<String> = open.collect();
        self.set("open", open.join("\n"));
        self.set("state", format!("{} {}\n{hex}", driver.state.format, driver.turn_no));
        let played = self.play();
        self.set("expected", played);
    }

    /// Loads the state and continues from there.
    fn play(&self) -> String {
        let text = self.part("state");
        let (head, hex) = text.split_once('\n').expect("a state");
        let (format, turn_no) = head.split_once(' ').expect("format and turn");
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        let bytes: Vec<u8> = digits
            .chunks(2)
            .map(|pair| u8::from_str_radix(&String::from_utf8_lossy(pair), 16).expect("hex"))
            .collect();
        let state = State::new(format.parse().expect("a number"), bytes);
        let open: BTreeMap<EffectKey, Open> = self.part("open").lines().map(opened).collect();
        let model = short::full(&self.part("model"));
        let turn_no = turn_no.parse().expect("a number");
        let mut driver = Driver { state, turn_no, open, ..Driver::new(&model, Limits::default()) };
        let mut lines = Vec::new();
        for line in self.part("then").lines() {
            driver.finish(key(line));
            lines.push(format!("after {line}: {} open", driver.open.len()));
        }
        lines.push(match &driver.outcome {
            Some(Outcome::Completed { output, .. }) => format!("completed {output}"),
            other => format!("{other:?} {:?}", driver.incidents),
        });
        lines.join("\n")
    }
}

fn key(text: &str) -> EffectKey {
    let (turn_no, ordinal) = text.trim().split_once('.').expect("TURN.ORDINAL");
    let (turn_no, ordinal) =
        (turn_no.parse().expect("a number"), ordinal.parse().expect("a number"));
    InstanceId::new(1, 1).effect(turn_no, ordinal)
}

fn opened(line: &str) -> (EffectKey, Open) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let open = match words[1..] {
        ["task"] => Open::Task,
        ["timer", due_at] => Open::Timer(Timestamp::parse(due_at).expect("an instant")),
        ["wait"] => Open::Wait,
        _ => Open::Child,
    };
    (key(words[0]), open)
}
