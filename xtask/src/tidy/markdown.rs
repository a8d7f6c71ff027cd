//! Every Markdown file has exactly one title, and its relative links point to files that exist.

use std::collections::BTreeSet;

use super::Problem;
use super::repo::Repo;

pub(super) fn check(repo: &Repo) -> Vec<Problem> {
    let mut known = BTreeSet::new();
    for file in &repo.files {
        // The directories above a file are valid link targets too.
        let mut path = file.path.as_str();
        known.insert(path);
        while let Some((dir, _)) = path.rsplit_once('/') {
            known.insert(dir);
            path = dir;
        }
    }
    let mut problems = Vec::new();
    for file in repo.files.iter().filter(|file| file.is_kind("md")) {
        let mut titles = 0;
        for (number, line) in prose(&file.text) {
            if line.starts_with("# ") {
                titles += 1;
            }
            for target in links(&line) {
                if !resolves(&file.path, target, &known) {
                    let message = format!(
                        "the link `{target}` leads nowhere: links are relative to this file"
                    );
                    problems.push(Problem::at(&file.path, number, message));
                }
            }
        }
        if titles != 1 {
            let message = format!("has {titles} titles: write exactly one `# ` heading");
            problems.push(Problem::new(&file.path, message));
        }
    }
    problems
}

/// The lines outside of code fences, without inline code, with their numbers.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut fence: Option<&str> = None;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let ticks = trimmed.chars().take_while(|c| matches!(c, '`' | '~')).count();
        let mark = trimmed.get(..ticks).unwrap_or_default();
        match fence {
            Some(open) if mark.starts_with(open) && trimmed.trim_end() == mark => fence = None,
            None if mark.len() >= 3 => fence = Some(mark),
            Some(_) => {}
            None => {
                let parts = line.split('`').enumerate();
                let plain = parts.filter(|(part, _)| part % 2 == 0).map(|(_, text)| text);
                lines.push((index + 1, plain.collect::<Vec<_>>().join("")));
            }
        }
    }
    lines
}

/// Targets of `[text](target)`, `![text](target)` and `[name]: target`.
fn links(line: &str) -> Vec<&str> {
    let mut targets = Vec::new();
    for (at, open) in line.match_indices("](") {
        let rest = line.get(at + open.len()..).unwrap_or_default();
        if let Some((target, _)) = rest.split_once(')') {
            targets.push(target.split_whitespace().next().unwrap_or_default());
        }
    }
    if line.starts_with('[')
        && let Some((name, target)) = line.split_once("]: ")
        && !name.contains(']')
    {
        targets.push(target.split_whitespace().next().unwrap_or_default());
    }
    targets
}

fn resolves(from: &str, target: &str, known: &BTreeSet<&str>) -> bool {
    if target.contains("://") || target.starts_with("mailto:") || target.starts_with('#') {
        return true;
    }
    let path = target.split('#').next().unwrap_or_default();
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => {
                if parts.pop().is_none() {
                    return false;
                }
            }
            name => parts.push(name),
        }
    }
    parts.is_empty() || known.contains(parts.join("/").as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str) -> Vec<String> {
        let files = [("docs/a.md", text), ("docs/adr/b.md", "# B\n"), ("README.md", "# R\n")];
        check(&Repo::with_files(&files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn one_title_is_right_and_any_other_number_is_not() {
        assert!(messages("# A\n\n## Part\n").is_empty());
        assert!(messages("# A\n\n```sh\n# a comment\n```\n").is_empty());
        assert_eq!(messages("text\n").len(), 1);
        assert_eq!(messages("# A\n\n# B\n").len(), 1);
    }

    #[test]
    fn relative_links_must_resolve() {
        assert!(messages("# A\n[b](adr/b.md#part) [r](../README.md) [d](adr/)\n").is_empty());
        assert!(messages("# A\n[w](https://example.com) [t](#part) `[x](y.md)`\n").is_empty());
        let broken = messages("# A\n\nsee [b](b.md)\n[c]: c.md\n[d](../../x.md)");
        assert_eq!(broken.len(), 3);
        assert!(broken[0].starts_with("docs/a.md:3: "), "{broken:?}");
    }

    #[test]
    fn a_longer_fence_may_hold_a_shorter_one() {
        assert!(messages("# A\n````md\n```\n# B\n```\n````\n").is_empty());
    }
}
