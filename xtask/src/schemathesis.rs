//! `schemathesis`: valid and invalid requests generated from the OpenAPI document, sent to the real
//! server. Every answer must match the document, and none may be a server error.
//!
//! The tool comes from `PyPI`, into a directory of its own below `target`.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::sdk;
use crate::shell::{output, root};
use crate::step::{Options, Step};

const SCHEMATHESIS_PACKAGE: &str = "schemathesis==4.32.5";

/// `negative_data_rejection` is left out: sources are plain text, so any mutation may be valid.
const SCHEMATHESIS_CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
     response_headers_conformance,response_schema_conformance,ignored_auth,unsupported_method";

pub(crate) const STEPS: &[Step] =
    &[Step { name: "requests from the OpenAPI document", run: run_few_examples }];

/// A few requests for each operation, as part of `test`.
fn run_few_examples(_: &Options) -> Result<()> {
    run_schemathesis("3", "1")
}

/// `cargo xtask schemathesis`: as many requests as the options say.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let (mut examples, mut seed) = ("100", "1");
    let mut rest = args.iter();
    while let Some(flag) = rest.next() {
        let value = rest.next().with_context(|| format!("{flag} needs a number"))?;
        match flag.as_str() {
            "--examples" => examples = value,
            "--seed" => seed = value,
            unknown => bail!("no option `{unknown}`"),
        }
    }
    sdk::build_binary()?;
    run_schemathesis(examples, seed)
}

fn run_schemathesis(examples: &str, seed: &str) -> Result<()> {
    let directory = root()?.join("target/schemathesis");
    let tool = install(&directory)?;
    let binary = sdk::path_of_binary()?;
    let mut make = Command::new(&binary);
    let key = output(make.args(["key", "--role", "admin", "--format", "json"]), &directory)?;
    let key: Value = serde_json::from_str(&key)?;
    let server = Server::start(&binary, &directory, &key)?;
    let secret = key["key"].as_str().unwrap_or_default();
    let status = Command::new(tool)
        .args(["run", &format!("{}/openapi.json", server.url), "--checks", SCHEMATHESIS_CHECKS])
        .args(["--max-examples", examples, "--seed", seed, "--request-timeout", "30"])
        .args(["--header", &format!("Authorization: Bearer {secret}")])
        .current_dir(&directory)
        .status()?;
    ensure!(status.success(), "the server does not keep to its document");
    Ok(())
}

/// Installs the tool if it is missing; returns its path.
fn install(directory: &Path) -> Result<PathBuf> {
    let tool = directory.join("bin/schemathesis");
    if tool.exists() {
        return Ok(tool);
    }
    fs::create_dir_all(directory)?;
    let mut make = Command::new("python3");
    output(make.args(["-m", "venv", "."]), directory).context("python3 cannot make a venv")?;
    let mut pip = Command::new(directory.join("bin/pip"));
    output(pip.args(["install", "--quiet", SCHEMATHESIS_PACKAGE]), directory)?;
    Ok(tool)
}

/// A server with a key; dropping it ends it.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(binary: &Path, directory: &Path, key: &Value) -> Result<Self> {
        // Short waits, because generated requests would otherwise wait long; a high limit for
        // failed logins, because generated requests often have wrong credentials.
        let settings = format!(
            "[http]\nmax_wait = \"PT1S\"\nmax_claim_wait = \"PT1S\"\n\
             [rate]\nfailures_per_minute = 1000000\n\
             [[auth.keys]]\nid = {}\nsha256 = {}\nrole = \"admin\"\n",
            key["id"], key["sha256"]
        );
        fs::write(directory.join("meantime.toml"), settings)?;
        let mut child = Command::new(binary)
            .args(["serve", "--config", "meantime.toml", "--db", "memory"])
            .args(["--virtual-clock", "2026-01-01T00:00:00Z", "--listen", "127.0.0.1:0"])
            .env("MEANTIME_LOG__FORMAT", "json")
            .current_dir(directory)
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start the server")?;
        let output = child.stderr.take().context("it has no output")?;
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let address = lines.find_map(|line| {
            let entry: Value = serde_json::from_str(&line).ok()?;
            entry["fields"]["address"].as_str().map(str::to_owned)
        });
        let mut server = Self { child, url: String::new() };
        server.url = format!("http://{}", address.context("the server does not listen")?);
        // Keeps reading the log: a full pipe would block the server.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
