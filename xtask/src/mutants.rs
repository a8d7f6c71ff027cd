//! `mutants`: breaks the code behind a rule on purpose and expects the test of the rule to fail.
//!
//! ```text
//! mutants.txt ─ list ─► sync scratch tree ─► unmutated tests pass?
//!                                                  │ yes
//!                       restore ◄─ run test ◄─ build ◄─ break the code    (for each mutant)
//! ```
//!
//! A rule whose test still passes on broken code is not tested. All work is done in a copy below
//! `target/mutants`, so an interrupted run leaves nothing broken behind.

mod mutant_list;
mod scratch_copy;

use std::collections::BTreeSet;
use std::fmt;

use anyhow::{Context, Result, bail, ensure};

use crate::shell;
use crate::step::{now, seconds};
use mutant_list::Mutant;
use scratch_copy::{Outcome, ScratchCopy};

const MUTANTS_FILE: &str = "xtask/mutants.txt";

/// The result of one mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MutantVerdict {
    /// The test failed, as it should.
    Caught,
    /// The test ran into the time limit, which counts as caught.
    Hung,
    /// The test passed: the rule is not tested.
    Missed,
    /// The text to replace is not in the file exactly once.
    Stale,
    /// The broken code does not compile, which says nothing about the test.
    Broken,
}

impl fmt::Display for MutantVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Caught => "caught",
            Self::Hung => "caught (hung)",
            Self::Missed => "MISSED",
            Self::Stale => "STALE",
            Self::Broken => "BROKEN",
        })
    }
}

pub(crate) fn run(args: &[String]) -> Result<()> {
    let root = shell::root()?;
    let text = std::fs::read_to_string(root.join(MUTANTS_FILE))
        .with_context(|| format!("read {MUTANTS_FILE}"))?;
    let mut mutants =
        mutant_list::parse(&text).with_context(|| format!("cannot read {MUTANTS_FILE}"))?;
    let (flags, names): (Vec<&String>, Vec<&String>) =
        args.iter().partition(|arg| arg.starts_with('-'));
    for name in &names {
        ensure!(
            mutants.iter().any(|mutant| mutant.is_called(name)),
            "no mutant or rule `{name}`; `cargo xtask mutants --list` shows what there is"
        );
    }
    mutants.retain(|mutant| names.is_empty() || names.iter().any(|name| mutant.is_called(name)));
    match flags.as_slice() {
        [] => test_mutants(&ScratchCopy::prepare(&root)?, &mutants),
        [flag] if *flag == "--list" => {
            for mutant in &mutants {
                println!("{:40} {:20} {}", mutant.name, mutant.rules, mutant.file);
            }
            Ok(())
        }
        [flag, ..] => bail!("no option `{flag}`; there is only --list"),
    }
}

fn test_mutants(scratch: &ScratchCopy, mutants: &[Mutant]) -> Result<()> {
    let all = now();
    check_unmutated(scratch, mutants)?;
    println!("{:40} {:20} {:13} {:>8}", "mutant", "rules", "verdict", "time");
    let mut survivors = 0;
    for mutant in mutants {
        let begin = now();
        let (verdict, detail) = test_mutant(scratch, mutant)?;
        let took = seconds(begin.elapsed());
        println!("{:40} {:20} {verdict:13} {took:>8}", mutant.name, mutant.rules);
        if !matches!(verdict, MutantVerdict::Caught | MutantVerdict::Hung) {
            survivors += 1;
            for line in detail.lines() {
                println!("    {line}");
            }
        }
    }
    ensure!(survivors == 0, "{survivors} of {} mutants were not caught", mutants.len());
    println!("all {} mutants were caught ({})", mutants.len(), seconds(all.elapsed()));
    Ok(())
}

/// Checks that every test passes on unchanged code: a test that fails anyway, or does not exist,
/// would prove nothing.
fn check_unmutated(scratch: &ScratchCopy, mutants: &[Mutant]) -> Result<()> {
    let tests: BTreeSet<&[String]> = mutants.iter().map(|mutant| mutant.test.as_slice()).collect();
    for test in tests {
        let begin = now();
        let command = test.join(" ");
        match scratch.build(test)? {
            Outcome::Passed(_) => {}
            Outcome::Failed(output) => bail!("`{command}` does not build unmutated:\n{output}"),
            Outcome::Hung => bail!("`{command}` does not finish building"),
        }
        match scratch.test(test)? {
            Outcome::Passed(output) => {
                ensure!(count_passed(&output) > 0, "`{command}` runs no test: correct its name");
            }
            Outcome::Failed(output) => bail!("`{command}` fails unmutated:\n{output}"),
            Outcome::Hung => bail!("`{command}` does not finish unmutated"),
        }
        println!("unmutated: cargo test {command} ok ({})", seconds(begin.elapsed()));
    }
    Ok(())
}

fn test_mutant(scratch: &ScratchCopy, mutant: &Mutant) -> Result<(MutantVerdict, String)> {
    let original = scratch.read(&mutant.file).unwrap_or_default();
    let broken = match apply_mutant(&original, mutant) {
        Ok(broken) => broken,
        Err(why) => return Ok((MutantVerdict::Stale, why)),
    };
    scratch.write(&mutant.file, &broken)?;
    let outcome = run_mutant_tests(scratch, mutant);
    scratch.write(&mutant.file, &original)?;
    outcome
}

fn run_mutant_tests(scratch: &ScratchCopy, mutant: &Mutant) -> Result<(MutantVerdict, String)> {
    Ok(match scratch.build(&mutant.test)? {
        Outcome::Failed(output) => (MutantVerdict::Broken, output),
        Outcome::Hung => (MutantVerdict::Broken, "the build does not end".to_owned()),
        Outcome::Passed(_) => match scratch.test(&mutant.test)? {
            Outcome::Failed(_) => (MutantVerdict::Caught, String::new()),
            Outcome::Hung => (MutantVerdict::Hung, String::new()),
            Outcome::Passed(_) => {
                let command = mutant.test.join(" ");
                (MutantVerdict::Missed, format!("`cargo test {command}` passes on the broken code"))
            }
        },
    })
}

/// The broken text, or why the mutant is stale.
fn apply_mutant(original: &str, mutant: &Mutant) -> Result<String, String> {
    match original.matches(&mutant.find).count() {
        1 => Ok(original.replacen(&mutant.find, &mutant.replace, 1)),
        count => Err(format!(
            "stale mutant: its `find` text is in {} {count} times, but must be there once",
            mutant.file
        )),
    }
}

/// The sum over all test binaries of `test result: ok. 3 passed; …`.
fn count_passed(output: &str) -> usize {
    let results = output.lines().filter_map(|line| line.split_once("test result: ok. "));
    results.filter_map(|(_, rest)| rest.split(' ').next()?.parse::<usize>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(find: &str, replace: &str) -> Mutant {
        Mutant {
            name: "a".to_owned(),
            rules: "I1".to_owned(),
            file: "a.rs".to_owned(),
            find: find.to_owned(),
            replace: replace.to_owned(),
            test: Vec::new(),
        }
    }

    #[test]
    fn the_text_must_be_there_exactly_once() {
        assert_eq!(apply_mutant("a < b", &mutant("<", "<=")).unwrap(), "a <= b");
        assert!(apply_mutant("a > b", &mutant("<", "<=")).unwrap_err().contains("0 times"));
        assert!(apply_mutant("a < b < c", &mutant("<", "<=")).unwrap_err().contains("2 times"));
    }

    #[test]
    fn passed_tests_are_counted_over_all_binaries() {
        let output = "running 2 tests\ntest result: ok. 2 passed; 0 failed\n\
                      test result: ok. 0 passed; 0 failed\ntest result: ok. 3 passed; 0 failed\n";
        assert_eq!(count_passed(output), 5);
        assert_eq!(count_passed("test result: ok. 0 passed; 0 failed"), 0);
    }

    #[test]
    fn the_code_has_what_the_list_wants_to_break() {
        let root = shell::root().unwrap();
        let text = std::fs::read_to_string(root.join(MUTANTS_FILE)).unwrap();
        for it in mutant_list::parse(&text).unwrap() {
            let code = std::fs::read_to_string(root.join(&it.file)).unwrap();
            let mutated = apply_mutant(&code, &it).map(drop);
            assert_eq!(mutated, Ok(()), "{} in {}", it.name, it.file);
        }
    }

    /// Every rule of the kernel has a mutant: without one it is not known whether its test can
    /// fail.
    #[test]
    fn every_rule_has_a_mutant() {
        let text = std::fs::read_to_string(shell::root().unwrap().join(MUTANTS_FILE)).unwrap();
        let mutants = mutant_list::parse(&text).unwrap();
        let series = [("T", 13), ("D", 7), ("O", 2), ("I", 12)];
        let rules = series.iter().flat_map(|(letter, count)| {
            (1..=*count).map(move |number: u32| format!("{letter}{number}"))
        });
        let breaks = |rule: &String| mutants.iter().any(|mutant| mutant.is_called(rule));
        let missing: Vec<String> = rules.filter(|rule| !breaks(rule)).collect();
        assert!(missing.is_empty(), "no mutant breaks {}", missing.join(", "));
    }
}
