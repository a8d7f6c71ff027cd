//! Runs a corpus of cases with known answers through one of the languages.
//!
//! The corpus is not part of the repository. Developer commands know no crate of the engine, so the
//! running itself is an example of `meantime-expr`.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

use crate::shell::cargo_run;

/// Names the corpus when no file is given.
const VARIABLE: &str = "MEANTIME_DATAWEAVE_CORPUS";

pub(crate) fn run(args: &[String]) -> Result<()> {
    let (flags, plain): (Vec<&String>, Vec<&String>) =
        args.iter().partition(|arg| arg.starts_with("--"));
    if let Some(flag) = flags.iter().find(|flag| **flag != "--failures") {
        bail!("`conformance` knows no `{flag}`; there is `--failures`");
    }
    let (language, file) = match plain.as_slice() {
        [language] => (language, None),
        [language, file] => (language, Some(PathBuf::from(file))),
        _ => bail!("`conformance` takes a language and a file: `conformance dataweave FILE`"),
    };
    ensure!(language.as_str() == "dataweave", "there is no corpus runner for `{language}`");
    let given = file.or_else(|| std::env::var_os(VARIABLE).map(PathBuf::from));
    let Some(file) = given else {
        bail!(
            "no corpus given, so nothing was checked: name a file, or set {VARIABLE} to its path"
        );
    };
    let file = file.canonicalize().with_context(|| {
        format!("there is no corpus at {}, nothing was checked", file.display())
    })?;
    let file = file.to_string_lossy().into_owned();
    let mut command: Vec<&str> = "run --quiet --release -p meantime-expr --example conformance --"
        .split(' ')
        .chain(["dataweave", &file])
        .collect();
    command.extend(flags.iter().map(|flag| flag.as_str()));
    cargo_run(&command)
}
