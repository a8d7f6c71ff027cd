//! Every error code has a page in `docs/errors`, and every page has its code.
//!
//! A code is declared as a string literal in the body of a function named `code`.

use std::collections::BTreeMap;

use super::Problem;
use super::repo::Repo;
use super::source::{Source, closing};

const ERROR_PAGES: &str = "docs/errors/";

pub(super) fn check(repo: &Repo) -> Vec<Problem> {
    let mut declared = BTreeMap::new();
    for (file, source) in repo.rust().filter(|(file, _)| is_engine(&file.path)) {
        for (offset, code) in codes(source) {
            declared.entry(code).or_insert_with(|| (file.path.clone(), source.line(offset)));
        }
    }
    let mut problems = Vec::new();
    for (code, (path, line)) in &declared {
        if repo.file(&format!("{ERROR_PAGES}{code}.md")).is_none() {
            let message = format!(
                "the error code `{code}` has no page: write {ERROR_PAGES}{code}.md with what happened, \
                 why, and what to do"
            );
            problems.push(Problem::at(path, *line, message));
        }
    }
    for file in &repo.files {
        let page = file.path.strip_prefix(ERROR_PAGES).and_then(|page| page.strip_suffix(".md"));
        if page.is_some_and(|code| code != "README" && !declared.contains_key(code)) {
            let message = "no `fn code` declares this code: delete the page, or correct its name";
            problems.push(Problem::new(&file.path, message));
        }
        if page.is_some() && ["crates/", "**Where.**"].iter().any(|it| file.text.contains(it)) {
            let message = "pages about errors are shown to users by the server: leave out where in \
                           the code it comes from";
            problems.push(Problem::new(&file.path, message));
        }
    }
    problems
}

fn is_engine(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.next() == Some("crates") && parts.nth(1) == Some("src")
}

/// The literals of all bodies of `fn code(…)` that look like a code.
fn codes(source: &Source) -> Vec<(usize, String)> {
    let mut codes = Vec::new();
    for start in source.find("fn code(").into_iter().filter(|at| !source.is_test(*at)) {
        let rest = source.code.get(start..).unwrap_or_default();
        // A declaration in a trait ends with `;` and has no body.
        let Some(open) = rest.find(['{', ';']).filter(|at| rest[*at..].starts_with('{')) else {
            continue;
        };
        let body = start + open..closing(&source.code, start + open);
        for literal in &source.literals {
            if body.contains(&literal.offset) && is_code(&literal.text) {
                codes.push((literal.offset, literal.text.clone()));
            }
        }
    }
    codes
}

/// A word in lower case, or the letter of a notation with three digits.
fn is_code(text: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let is_word = text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(is_inner);
    let digits = text.strip_prefix(['B', 'E', 'F', 'J']).unwrap_or_default();
    is_word || (digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "impl Error {
        /// The stable code.
        pub fn code(&self) -> &'static str {
            match self { Self::A => \"store_full\", Self::B { .. } => { \"bad_input\" } }
        }
        fn other(&self) -> &'static str { \"not_a_code\" }
    }
    trait T { fn code(&self) -> &'static str; fn x(&self) { \"neither\"; } }";

    fn messages(pages: &[&str]) -> Vec<String> {
        let mut files = vec![("crates/store/src/error.rs", CODE)];
        files.extend(pages.iter().map(|page| (*page, "# A\n")));
        check(&Repo::with_files(&files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn diagnostics_of_notations_are_codes_too() {
        assert!(is_code("F001") && is_code("store_full"));
        assert!(!is_code("F01") && !is_code("X001") && !is_code("TypeError"));
    }

    #[test]
    fn both_directions_are_checked() {
        let all = ["docs/errors/store_full.md", "docs/errors/bad_input.md"];
        assert!(messages(&all).is_empty());
        let missing = messages(&["docs/errors/store_full.md", "docs/errors/README.md"]);
        assert_eq!(missing.len(), 1);
        assert!(missing[0].starts_with("crates/store/src/error.rs:4: "), "{missing:?}");
        let surplus = messages(&[all[0], all[1], "docs/errors/not_a_code.md"]);
        assert_eq!(surplus.len(), 1);
        assert!(surplus[0].starts_with("docs/errors/not_a_code.md: "), "{surplus:?}");
    }
}
