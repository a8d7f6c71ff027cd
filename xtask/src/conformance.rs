//! Runs a corpus of cases with known answers through one of the languages.
//!
//! The corpora are not part of the repository. `xtask` depends on no crate of the engine, so each
//! runner is an example program of the crate under test.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

use crate::shell::cargo_run;

/// A language with a corpus runner.
struct Runner {
    language: &'static str,
    /// What comes after `cargo run --quiet`.
    command: &'static [&'static str],
    /// Names the corpus when no file is given; several files are separated as in `PATH`.
    variable: &'static str,
}

const RUNNERS: [Runner; 4] = [
    Runner {
        language: "dataweave",
        command: &[
            "--release",
            "-p",
            "meantime-dataweave",
            "--example",
            "conformance",
            "--",
            "dataweave",
        ],
        variable: "MEANTIME_DATAWEAVE_CORPUS",
    },
    Runner {
        language: "flow",
        command: &["-p", "meantime-sim", "--example", "originals", "--"],
        variable: "MEANTIME_FLOW_DOCUMENTS",
    },
    Runner {
        language: "bpmn",
        command: &["-p", "meantime-bpmn", "--example", "models", "--"],
        variable: "MEANTIME_BPMN_MODELS",
    },
    Runner {
        language: "journey",
        command: &["-p", "meantime-journey", "--example", "fragments", "--"],
        variable: "MEANTIME_JOURNEY_DOCUMENTS",
    },
];

pub(crate) fn run(args: &[String]) -> Result<()> {
    let (flags, plain): (Vec<&String>, Vec<&String>) =
        args.iter().partition(|arg| arg.starts_with("--"));
    let Some((language, files)) = plain.split_first() else {
        bail!("`conformance` takes a language and files: `conformance dataweave FILE`");
    };
    let Some(runner) = RUNNERS.iter().find(|it| it.language == language.as_str()) else {
        bail!("there is no corpus runner for `{language}`");
    };
    let known = |flag: &str| flag == "--failures" && runner.language == "dataweave";
    if let Some(flag) = flags.iter().find(|flag| !known(flag.as_str())) {
        bail!("`conformance {language}` knows no `{flag}`");
    }
    let files = runner.files(files)?;
    let mut command = vec!["run", "--quiet"];
    command.extend(runner.command);
    command.extend(files.iter().map(String::as_str));
    command.extend(flags.iter().map(|flag| flag.as_str()));
    cargo_run(&command)
}

impl Runner {
    /// The files that are given, or those that the environment names. All must be there.
    fn files(&self, given: &[&String]) -> Result<Vec<String>> {
        let mut files: Vec<PathBuf> = given.iter().map(PathBuf::from).collect();
        if files.is_empty() {
            let named = std::env::var_os(self.variable).unwrap_or_default();
            files = std::env::split_paths(&named).filter(|it| !it.as_os_str().is_empty()).collect();
        }
        ensure!(
            !files.is_empty(),
            "no corpus given, so nothing was checked: name a file, or set {} to its path",
            self.variable
        );
        let found = files.iter().map(|file| {
            let found = file.canonicalize().with_context(|| {
                format!("there is no corpus at {}, nothing was checked", file.display())
            })?;
            Ok(found.to_string_lossy().into_owned())
        });
        found.collect()
    }
}
