//! Plays the conversations in `tests/api`: requests and the answers they must get.
//!
//! A file is Markdown. A block marked `http` is a request; the block after it, marked `answer`, is
//! the expected answer. Ids are replaced by their kind and a number, in the order in which
//! they appear, and requests use the same names: `<in1>`, `<tk1>`. `UPDATE_EXPECT=1` writes the
//! actual answers into the file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use http_body_util::BodyExt as _;
use libtest_mimic::{Arguments, Failed, Trial};
use meantime_core::Timestamp;
use meantime_kernel::store::MemoryStore;
use meantime_server::{App, Engine, Settings, SourceFormats, notations};
use meantime_sim::probe::Probe;
use tower::ServiceExt as _;

fn main() {
    let arguments = Arguments::from_args();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api");
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory)
        .expect("the conversations are there")
        .map(|entry| entry.expect("the directory can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    files.sort();
    let trials = files.into_iter().map(|path| {
        let name = path.file_stem().map_or_else(String::new, |it| it.to_string_lossy().into());
        Trial::test(name, move || play(&path))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

fn play(path: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let played = runtime.block_on(async {
        let mut stage = Stage::new().await;
        let mut played = String::new();
        let mut lines = text.lines();
        let mut answer = None;
        while let Some(line) = lines.next() {
            let _ = writeln!(played, "{line}");
            let block = |lines: &mut std::str::Lines<'_>| -> String {
                lines.take_while(|line| *line != "```").flat_map(|line| [line, "\n"]).collect()
            };
            match line {
                "```http" => {
                    let request = block(&mut lines);
                    let _ = writeln!(played, "{request}```");
                    answer = Some(stage.ask(&request).await);
                }
                "```answer" => {
                    block(&mut lines);
                    let answer = answer.take().unwrap_or_default();
                    let _ = writeln!(played, "{answer}```");
                }
                _ => {}
            }
        }
        played
    });
    if played == text {
        return Ok(());
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path, played)?;
        return Ok(());
    }
    Err(Failed::from(difference(&text, &played)))
}

/// The first lines that differ, with the lines before them.
fn difference(expected: &str, actual: &str) -> String {
    let same = expected.lines().zip(actual.lines()).take_while(|(one, other)| one == other).count();
    let from = same.saturating_sub(12);
    let part = |text: &str| -> String {
        text.lines().skip(from).take(36).flat_map(|line| ["    ", line, "\n"]).collect()
    };
    format!("differs at line {}\nexpected\n{}\ngot\n{}", same + 1, part(expected), part(actual))
}

struct Stage {
    router: Router,
    names: Names,
}

impl Stage {
    async fn new() -> Self {
        let mut settings = Settings::default();
        settings.clock.is_virtual = true;
        settings.clock.start = Timestamp::parse("2026-01-01T00:00:00Z").ok();
        settings.clock.max_firings = 1_000;
        let notations = notations().with("probe", Arc::new(Probe));
        let formats = SourceFormats::default().with("probe", &["text/x-probe"]);
        let store = Arc::new(MemoryStore::new());
        let engine = Engine::start_on(store, settings, notations, formats).await;
        let app = App::new(&engine.expect("the engine starts"));
        Self { router: app.router(), names: Names::default() }
    }

    async fn ask(&mut self, text: &str) -> String {
        let text = self.names.resolve(text);
        let (head, body) = text.split_once("\n\n").unwrap_or((text.trim_end(), ""));
        let mut head = head.lines();
        let (method, path) =
            head.next().and_then(|line| line.split_once(' ')).expect("a method and a path");
        let outside = ["/healthz", "/readyz", "/docs", "/openapi.json", "/metrics", "/none"];
        let base = if outside.contains(&path) { "" } else { "/api/v1" };
        let mut request = Request::builder().method(method).uri(format!("{base}{path}"));
        for header in head {
            let (name, value) = header.split_once(": ").expect("a header");
            request = request.header(name, value);
        }
        let request = request.body(Body::from(body.trim_end().to_owned())).expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("never fails");
        self.shown(response).await
    }

    async fn shown(&mut self, response: Response<Body>) -> String {
        let mut shown = response.status().as_u16().to_string();
        for name in ["retry-after", "www-authenticate"] {
            if let Some(value) = response.headers().get(name) {
                let _ = write!(shown, "\n{name}: {}", value.to_str().unwrap_or_default());
            }
        }
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        let body = String::from_utf8_lossy(&body).into_owned();
        let body = match serde_json::from_str::<serde_json::Value>(&body) {
            Ok(json) => serde_json::to_string_pretty(&json).expect("JSON"),
            Err(_) => body,
        };
        let body: Vec<String> = body.trim_end().lines().map(without_real_time).collect();
        format!("{shown}\n\n{}\n", self.names.replace(&body.join("\n")))
    }
}

/// Removes times of leases: leases use real time, which a test cannot predict.
fn without_real_time(line: &str) -> String {
    match line.split_once("\"leaseUntil\": ") {
        Some((head, _)) => format!("{head}\"leaseUntil\": real time"),
        None => line.to_owned(),
    }
}

/// Names for ids, by kind and number.
#[derive(Default)]
struct Names {
    by_id: BTreeMap<String, String>,
    count: BTreeMap<String, usize>,
}

impl Names {
    fn resolve(&self, text: &str) -> String {
        let replace = |text: String, (id, name): (&String, &String)| text.replace(name, id);
        self.by_id.iter().fold(text.to_owned(), replace)
    }

    fn replace(&mut self, text: &str) -> String {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let mut result = String::new();
        let mut rest = text;
        while let Some(start) = rest.find(is_part) {
            result.push_str(&rest[..start]);
            let word = &rest[start..];
            let end = word.find(|c| !is_part(c)).unwrap_or(word.len());
            result.push_str(&self.name(&word[..end]));
            rest = &word[end..];
        }
        result + rest
    }

    /// The name of an id, a hash or a history position; other words stay as they are.
    fn name(&mut self, word: &str) -> String {
        let kind = match word.split_once('_') {
            Some((kind, rest)) if kind.len() == 2 && rest.len() >= 26 => kind,
            _ if word.len() == 64 && word.bytes().all(|it| it.is_ascii_hexdigit()) => "hash",
            _ if word.len() >= 30 && word.split('-').next().is_some_and(|it| it.len() == 26) => {
                "key"
            }
            _ if word.len() == 17 && word.bytes().all(|it| it.is_ascii_digit()) => "seq",
            _ => return word.to_owned(),
        };
        if let Some(name) = self.by_id.get(word) {
            return name.clone();
        }
        let count = self.count.entry(kind.to_owned()).or_default();
        *count += 1;
        let name = format!("<{kind}{count}>");
        self.by_id.insert(word.to_owned(), name.clone());
        name
    }
}
