//! Every hop of the walks in ARCHITECTURE.md names a file and a function that exist, and no walk
//! has more than [`MAX_HOPS`] hops.

use super::Problem;
use super::repo::Repo;

const DOCUMENT: &str = "ARCHITECTURE.md";

/// A walk with more hops cannot be kept in mind.
const MAX_HOPS: usize = 12;

pub(super) fn check(repo: &Repo) -> Vec<Problem> {
    let Some(document) = repo.file(DOCUMENT) else { return Vec::new() };
    let mut problems = Vec::new();
    let (mut walk, mut hops) = (None, 0);
    for (index, line) in document.text.lines().enumerate() {
        if let Some(title) = line.strip_prefix("## ") {
            walk = title.strip_prefix("Walk: ");
            hops = 0;
        }
        let Some(name) = walk else { continue };
        let Some((file, function)) = hop(line) else { continue };
        hops += 1;
        let mut problem = |text: String| problems.push(Problem::at(DOCUMENT, index + 1, text));
        if hops == MAX_HOPS + 1 {
            problem(format!("the walk {name} has more than {MAX_HOPS} hops: leave some out"));
        }
        match repo.file(file) {
            None => problem(format!("there is no file {file}: name the one that the walk passes")),
            Some(file) if !defines(&file.text, function) => {
                problem(format!("{} has no function {function}: name the right one", file.path));
            }
            Some(_) => {}
        }
    }
    problems
}

/// File and function of a row such as `| 3 | ‹file› | ‹function› | what happens |`.
fn hop(line: &str) -> Option<(&str, &str)> {
    let mut cells = line.strip_prefix("| ")?.split(" | ");
    cells.next()?.parse::<usize>().ok()?;
    Some((cells.next()?.trim_matches('`'), cells.next()?.trim_matches('`')))
}

fn defines(text: &str, function: &str) -> bool {
    let starts = [format!("fn {function}("), format!("fn {function}<")];
    starts.iter().any(|start| text.contains(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(document: &str) -> Vec<Problem> {
        let file = ("crates/a.rs", "pub fn arm<T>(it: T) {}\nfn fire() {}");
        check(&Repo::with_files(&[(DOCUMENT, document), file]))
    }

    #[test]
    fn hops_that_exist_are_fine() {
        let rows = "| 1 | `crates/a.rs` | `arm` | x |\n| 2 | `crates/a.rs` | `fire` | x |\n";
        assert_eq!(with(&format!("## Walk: a timer\n\n{rows}")), []);
        let other = "## Code map\n| 1 | `crates/b.rs` | `arm` | not a walk |\n";
        assert_eq!(with(other), []);
    }

    #[test]
    fn a_missing_file_a_missing_function_and_a_long_walk_are_found() {
        let found = with("## Walk: x\n| 1 | `crates/b.rs` | `arm` | x |\n");
        assert_eq!(found[0].location, "ARCHITECTURE.md:2");
        assert_eq!(with("## Walk: x\n| 1 | `crates/a.rs` | `disarm` | x |\n").len(), 1);
        let row = "| 1 | `crates/a.rs` | `arm` | x |\n";
        assert_eq!(with(&format!("## Walk: x\n{}", row.repeat(12))), []);
        assert_eq!(with(&format!("## Walk: x\n{}", row.repeat(13))).len(), 1);
    }
}
