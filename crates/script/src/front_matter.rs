//! Finds the front matter of a file.
//!
//! It is the first comment of the file, `/* meantime`, and its lines are YAML. A cron expression
//! may hold `*/`, so the comment ends at the first *line* that begins or ends with `*/`, not at the
//! first `*/`.

/// The front matter of a file, by bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrontMatter {
    /// The start of the comment.
    pub start: usize,
    /// The YAML.
    pub yaml: (usize, usize),
    /// The end of the `*/`; none if it is missing.
    pub end: Option<usize>,
}

/// Finds the front matter of a file, if it has one.
#[must_use]
pub fn front_matter(text: &str) -> Option<FrontMatter> {
    let body = text.trim_start_matches('\u{feff}').trim_start();
    let start = text.len() - body.len();
    let comment = body.strip_prefix("/*")?;
    let (head, rest) = comment.split_once('\n')?;
    if head.trim() != "meantime" {
        return None;
    }
    let from = text.len() - rest.len();
    let mut at = from;
    for line in rest.split_inclusive('\n') {
        let (open, shut) = (line.trim_start(), line.trim_end());
        if open.starts_with("*/") {
            let close = at + line.len() - open.len();
            return Some(FrontMatter { start, yaml: (from, close), end: Some(close + 2) });
        }
        if shut.ends_with("*/") {
            let close = at + shut.len() - 2;
            return Some(FrontMatter { start, yaml: (from, close), end: Some(close + 2) });
        }
        at += line.len();
    }
    Some(FrontMatter { start, yaml: (from, text.len()), end: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Option<(&str, Option<&str>)> {
        let found = front_matter(text)?;
        let yaml = text.get(found.yaml.0..found.yaml.1)?;
        Some((yaml, found.end.and_then(|end| text.get(end..))))
    }

    #[test]
    fn the_end_is_found_by_its_line() {
        let cron = "/* meantime\ncron: \"*/5 * * * *\"\n*/\nreturn 1";
        assert_eq!(parts(cron), Some(("cron: \"*/5 * * * *\"\n", Some("\nreturn 1"))));
        assert_eq!(parts("/* meantime\na: 1 */\nb"), Some(("a: 1 ", Some("\nb"))));
        assert_eq!(parts("\n/* meantime\r\na: 1\r\n  */ b"), Some(("a: 1\r\n  ", Some(" b"))));
        assert_eq!(parts("/* meantime\na: \"*/5\"\nb"), Some(("a: \"*/5\"\nb", None)));
        assert_eq!(parts("/* other\n*/"), None);
        assert_eq!(parts("return 1 /* meantime\n*/"), None);
    }
}
