//! I7 for SQL: no statement asks the database for the time or for a random value.

use super::Problem;
use super::repo::Repo;
use super::source::find_word;

/// Calls and keywords, in lower case and without blanks before the parenthesis.
const FORBIDDEN_SQL: &[&str] = &[
    "now()",
    "'now'",
    "current_timestamp",
    "current_time",
    "current_date",
    "localtimestamp",
    "clock_timestamp(",
    "statement_timestamp(",
    "transaction_timestamp(",
    "unixepoch()",
    "julianday()",
    "random()",
    "randomblob(",
    "gen_random_uuid(",
];

/// The only file that may ask the database for the time, and the call: the nodes that share a
/// database use its clock.
const CLOCK: (&str, &str) = ("crates/store/src/postgres/clock.rs", "clock_timestamp(");

pub(super) fn check(repo: &Repo) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in &repo.files {
        if file.is_kind("sql") {
            scan(&without_comments(&file.text), &file.path, 1, &mut problems);
        } else if let Some(source) = &file.source
            && file.path.starts_with("crates/store/src/")
        {
            for literal in source.literals.iter().filter(|it| !source.is_test(it.offset)) {
                let first = source.line(literal.offset);
                scan(&without_comments(&literal.text), &file.path, first, &mut problems);
            }
        }
    }
    problems
}

fn scan(sql: &str, path: &str, first_line: usize, problems: &mut Vec<Problem>) {
    for (number, line) in sql.lines().enumerate() {
        let line = normalize_sql(line);
        for word in FORBIDDEN_SQL {
            if !find_word(&line, word).is_empty() && (path, *word) != CLOCK {
                let message = format!(
                    "SQL must not use `{word}` (I7): pass the value as a parameter of the statement"
                );
                problems.push(Problem::at(path, first_line + number, message));
            }
        }
    }
}

/// Lower case, without blanks around parentheses, so that `NOW ( )` becomes `now()`.
fn normalize_sql(line: &str) -> String {
    let mut out = String::new();
    for c in line.to_lowercase().chars() {
        if matches!(c, '(' | ')') {
            out.truncate(out.trim_end().len());
        }
        if !(c.is_whitespace() && out.ends_with('(')) {
            out.push(c);
        }
    }
    out
}

/// Drops `-- …` and blanks `/* … */`, keeping the lines.
fn without_comments(sql: &str) -> String {
    let mut out = String::new();
    let mut rest = sql;
    while let Some(at) = rest.find("--").into_iter().chain(rest.find("/*")).min() {
        let (before, comment) = rest.split_at(at);
        out.push_str(before);
        let end = if comment.starts_with("--") {
            comment.find('\n').unwrap_or(comment.len())
        } else {
            comment.find("*/").map_or(comment.len(), |end| end + 2)
        };
        let (comment, after) = comment.split_at(end);
        out.extend(comment.chars().filter(|c| *c == '\n'));
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sql(text: &str) -> usize {
        check(&Repo::with_files(&[("crates/store/src/sqlite/migrations/0001_a.sql", text)])).len()
    }

    #[test]
    fn the_clock_of_the_database_is_found_in_every_spelling() {
        assert_eq!(sql("SELECT NOW ( );"), 1);
        assert_eq!(sql("created_at INTEGER DEFAULT CURRENT_TIMESTAMP"), 1);
        assert_eq!(sql("SELECT datetime('now');"), 1);
        assert_eq!(sql("SELECT strftime('%s', 'now');"), 1);
        assert_eq!(sql("SELECT hex(randomblob(16));"), 1);
    }

    #[test]
    fn comments_and_other_words_are_not_sql() {
        assert_eq!(sql("-- never now()\nSELECT due_at /* not now() */ FROM timer;"), 0);
        assert_eq!(sql("SELECT known(), now_at FROM timer;"), 0);
    }

    #[test]
    fn statements_in_the_store_are_read_with_their_line() {
        let text = "const A: &str = \"\n  SELECT 1\n  WHERE due_at <= now()\";";
        let problems = check(&Repo::with_files(&[("crates/store/src/sqlite/timer.rs", text)]));
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].location, "crates/store/src/sqlite/timer.rs:3");
    }

    #[test]
    fn one_file_may_ask_for_the_time_and_for_nothing_else() {
        let count = |path: &str, text: &str| check(&Repo::with_files(&[(path, text)])).len();
        let time = "const A: &str = \"SELECT clock_timestamp()\";";
        assert_eq!(count("crates/store/src/postgres/clock.rs", time), 0);
        assert_eq!(count("crates/store/src/postgres/node_lease.rs", time), 1);
        let other = "const A: &str = \"SELECT now()\";";
        assert_eq!(count("crates/store/src/postgres/clock.rs", other), 1);
    }

    #[test]
    fn rust_code_of_the_store_is_not_sql() {
        let text = "fn a(clock: &Clock) { clock.now(); } // now()";
        assert_eq!(check(&Repo::with_files(&[("crates/store/src/a.rs", text)])), []);
    }
}
