//! The list of mutants: blocks of `key: value` lines, described at the top of the file itself.

use anyhow::{Result, bail, ensure};

/// One way to break one rule.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Mutant {
    pub(super) name: String,
    pub(super) rules: String,
    pub(super) file: String,
    pub(super) find: String,
    pub(super) replace: String,
    /// Arguments of `cargo test`.
    pub(super) test: Vec<String>,
}

impl Mutant {
    /// Whether a word of the command line selects this mutant: its name, or a rule that it breaks.
    pub(super) fn is_called(&self, word: &str) -> bool {
        self.name == word || self.rules.split_whitespace().any(|rule| rule == word)
    }
}

/// Reads the list; every error names its line or mutant.
pub(super) fn parse(text: &str) -> Result<Vec<Mutant>> {
    let mut mutants: Vec<Mutant> = Vec::new();
    let mut has_replace = true;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((key, value)) = line.split_once(':') else {
            bail!("line {number}: expected `key: value`");
        };
        // Only the one blank after the colon is dropped: the rest is the indentation of the code.
        let value = value.strip_prefix(' ').unwrap_or(value);
        if key == "mutant" {
            check_complete(mutants.last(), has_replace)?;
            let name = value.trim();
            ensure!(
                !mutants.iter().any(|mutant| mutant.name == name),
                "line {number}: `{name}` is there twice"
            );
            mutants.push(Mutant { name: name.to_owned(), ..Mutant::default() });
            has_replace = false;
            continue;
        }
        let Some(mutant) = mutants.last_mut() else {
            bail!("line {number}: a block starts with `mutant: name`");
        };
        match key {
            "rules" => value.trim().clone_into(&mut mutant.rules),
            "file" => value.trim().clone_into(&mut mutant.file),
            "test" => mutant.test = value.split_whitespace().map(str::to_owned).collect(),
            "find" if mutant.find.is_empty() => value.clone_into(&mut mutant.find),
            "find" => mutant.find.extend(["\n", value]),
            "replace" if !has_replace => value.clone_into(&mut mutant.replace),
            "replace" => mutant.replace.extend(["\n", value]),
            _ => bail!("line {number}: no key `{key}`"),
        }
        has_replace |= key == "replace";
    }
    check_complete(mutants.last(), has_replace)?;
    Ok(mutants)
}

fn check_complete(mutant: Option<&Mutant>, has_replace: bool) -> Result<()> {
    let Some(mutant) = mutant else { return Ok(()) };
    let fields = [
        ("rules", mutant.rules.is_empty()),
        ("file", mutant.file.is_empty()),
        ("find", mutant.find.is_empty()),
        ("replace", !has_replace),
        ("test", mutant.test.is_empty()),
    ];
    for (key, is_missing) in fields {
        ensure!(!is_missing, "mutant `{}` has no `{key}`", mutant.name);
    }
    ensure!(mutant.find != mutant.replace, "mutant `{}` changes nothing", mutant.name);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "# why\nmutant: early\nrules: T1 I3\nfile: a.rs\nfind:     if a < b {\n\
                       find:         c\nreplace:     if true {\ntest: -p x --lib timer\n";

    #[test]
    fn lines_of_code_keep_their_indentation() {
        let mutants = parse(ONE).unwrap();
        assert_eq!(mutants.len(), 1);
        assert_eq!(mutants[0].find, "    if a < b {\n        c");
        assert_eq!(mutants[0].replace, "    if true {");
        assert_eq!(mutants[0].rules, "T1 I3");
        assert_eq!(mutants[0].test, ["-p", "x", "--lib", "timer"]);
        assert!(mutants[0].is_called("early") && mutants[0].is_called("I3"));
        assert!(!mutants[0].is_called("I"));
    }

    #[test]
    fn an_empty_replacement_deletes() {
        let text = "mutant: a\nrules: I1\nfile: a.rs\nfind: x\nreplace:\ntest: -p x\n";
        assert_eq!(parse(text).unwrap()[0].replace, "");
    }

    #[test]
    fn mistakes_are_named() {
        let error = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(error("rules: I1\n"), "line 1: a block starts with `mutant: name`");
        assert_eq!(error("mutant: a\nwhat\n"), "line 2: expected `key: value`");
        assert_eq!(error("mutant: a\nrule: I1\n"), "line 2: no key `rule`");
        assert_eq!(
            error("mutant: a\nrules: I1\nfile: f\nfind: x\n"),
            "mutant `a` has no `replace`"
        );
        assert!(error(&format!("{ONE}\n{ONE}")).contains("`early` is there twice"));
    }
}
