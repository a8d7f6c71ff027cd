//! Nothing in the repository points to one person's machine or to a private package registry.

use super::Problem;
use super::repo::Repo;

/// Prefixes of absolute paths that exist on one machine only, among them the path of this checkout.
const ABSOLUTE_PATHS: &[&str] = &["/root/", "/home/", "/Users/", env!("CARGO_MANIFEST_DIR")];

/// Names of products that serve private registries.
const PRIVATE_REGISTRIES: &[&str] = &["artifactory", "jfrog", "verdaccio", "devpi", "codeartifact"];

/// The only origin that a lock file of Cargo may name.
const PUBLIC_REGISTRY: &str = "https://github.com/rust-lang/crates.io-index";

/// This file contains the strings that it looks for.
const THIS_FILE: &str = "xtask/src/tidy/local_paths.rs";

pub(super) fn check(repo: &Repo) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in repo.files.iter().filter(|file| file.path != THIS_FILE) {
        let is_lock = is_lock_file(&file.path);
        for (index, line) in file.text.lines().enumerate() {
            let mut found = |message: String| {
                problems.push(Problem::at(&file.path, index + 1, message));
            };
            for path in ABSOLUTE_PATHS {
                if line.match_indices(path).any(|(at, _)| starts_path(line, at)) {
                    found(format!("`{path}` is a path of one machine: use a relative path"));
                }
            }
            let lower = line.to_lowercase();
            for word in PRIVATE_REGISTRIES {
                if lower.contains(word) {
                    found(format!("`{word}` names a private registry: use the public one"));
                }
            }
            if is_lock && let Some(origin) = origin(line) {
                found(format!(
                    "`{origin}` is not a public registry: write the lock file again without \
                     registry overrides"
                ));
            }
        }
    }
    problems
}

/// Whether a path starts here and does not continue a longer one: `examples/home/` is allowed.
fn starts_path(line: &str, at: usize) -> bool {
    let before = line.get(..at).and_then(|text| text.chars().next_back());
    !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '}' | '*'))
}

fn is_lock_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name == "Cargo.lock"
}

/// The origin of a package on this line of a lock file, unless it is the public registry.
fn origin(line: &str) -> Option<&str> {
    let line = line.trim();
    let start = line.find("http").filter(|_| line.starts_with("source = "))?;
    let url = line.get(start..)?.split('"').next()?;
    (!url.starts_with(PUBLIC_REGISTRY)).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&Repo::with_files(&[(path, text)])).len()
    }

    #[test]
    fn absolute_paths_of_a_machine_are_found() {
        assert_eq!(count("docs/a.md", "cd /home/me/meantime"), 1);
        assert_eq!(count("crates/core/src/a.rs", "open(\"/root/x\")"), 1);
        assert_eq!(count("docs/a.md", "see docs/work/ and https://example.com/home/"), 0);
    }

    #[test]
    fn private_registries_are_found() {
        assert_eq!(count("docs/a.md", "our Artifactory"), 1);
        assert_eq!(count("Cargo.lock", "source = \"registry+https://example.com/index\""), 1);
        let public = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
        assert_eq!(count("Cargo.lock", public), 0);
    }
}
