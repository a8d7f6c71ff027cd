//! `tidy`: facts about the repository that a machine can check.
//!
//! A check is a function from the repository to problems. It reads no file itself, so its own
//! tests hand it a small repository in memory and prove that it can fail. Every message says what
//! to do instead. The same checks run as tests of this package.

mod codes;
mod dependencies;
mod direction;
mod inputs;
mod licences;
mod markdown;
mod markers;
mod migrations;
mod places;
mod purity;
mod repo;
mod shape;
mod source;
mod sql;

use std::fmt;

use anyhow::{Result, bail};

use crate::shell;
use repo::Repo;

type Check = fn(&Repo) -> Vec<Problem>;

/// Every check with the name it is reported under.
const CHECKS: &[(&str, Check)] = &[
    ("pure crates stay pure", purity::check),
    ("crates depend downwards only", direction::check),
    ("one clock, one random source", inputs::check),
    ("time and chance are parameters of SQL", sql::check),
    ("nothing is left undone", markers::check),
    ("markdown has one title and working links", markdown::check),
    ("rust files have the agreed shape", shape::check),
    ("nothing points to one machine", places::check),
    ("every error code has its page", codes::check),
    ("every dependency is explained", dependencies::check),
    ("every licence is allowed", licences::check),
    ("released migrations never change", migrations::check),
];

/// One broken fact: where, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
struct Problem {
    place: String,
    message: String,
}

impl Problem {
    fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }

    /// A problem at a line, counted from one, in a form that editors can open.
    fn at(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self::new(format!("{path}:{line}"), message)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
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
