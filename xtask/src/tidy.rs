//! `tidy`: checks facts about the repository.
//!
//! A check is a function from the repository to problems. It reads no file itself, so its own tests
//! give it a small repository in memory and prove that it can fail. Every message says what to do
//! instead. The same checks run as tests of this package.

mod crate_graph;
mod dependencies;
mod error_codes;
mod file_shape;
mod glossary;
mod licences;
mod local_paths;
mod markdown;
mod migrations;
mod purity;
mod repo;
mod retired_words;
mod shared_names;
mod single_source;
mod source;
mod sql;
mod unfinished;
mod walks;

use std::fmt;

use anyhow::{Result, bail};

use crate::shell;
use repo::Repo;

type CheckFn = fn(&Repo) -> Vec<Problem>;

/// Every check with the name it is reported under.
const CHECKS: &[(&str, CheckFn)] = &[
    ("pure crates stay pure", purity::check),
    ("crates depend downwards only", crate_graph::check),
    ("one clock, one random source", single_source::check),
    ("time and randomness are parameters of SQL", sql::check),
    ("nothing is left undone", unfinished::check),
    ("markdown has one title and working links", markdown::check),
    ("rust files have the agreed shape", file_shape::check),
    ("nothing points to one machine", local_paths::check),
    ("every error code has its page", error_codes::check),
    ("every dependency is explained", dependencies::check),
    ("every licence is allowed", licences::check),
    ("released migrations never change", migrations::check),
    ("retired words stay retired", retired_words::check),
    ("public types have names of their own", shared_names::check),
    ("walks name functions that exist", walks::check),
    ("the glossary explains public names", glossary::check),
];

/// One problem: where it is, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
struct Problem {
    location: String,
    message: String,
}

impl Problem {
    fn new(location: impl Into<String>, message: impl Into<String>) -> Self {
        Self { location: location.into(), message: message.into() }
    }

    /// A problem at a line, counted from one, in a form that editors can open.
    fn at(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self::new(format!("{path}:{line}"), message)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.message)
    }
}

pub(crate) fn run() -> Result<()> {
    let repo = Repo::load(&shell::root()?)?;
    let mut count = 0;
    for (name, check) in CHECKS {
        let problems = check(&repo);
        println!("{} {name}", if problems.is_empty() { "ok  " } else { "FAIL" });
        for problem in &problems {
            println!("       {problem}");
        }
        count += problems.len();
    }
    if count > 0 {
        bail!("{count} tidy problems");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let repo = Repo::load(&shell::root().unwrap()).unwrap();
        let problems = CHECKS.iter().flat_map(|(name, check)| {
            check(&repo).into_iter().map(move |problem| format!("{name}: {problem}"))
        });
        let report: Vec<String> = problems.collect();
        assert!(report.is_empty(), "\n{}", report.join("\n"));
    }
}
