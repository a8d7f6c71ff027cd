//! Patterns and what they match.

use super::{Input, Regex};

fn found(source: &str, flags: &str, text: &str) -> String {
    let regex = match Regex::new(source, flags) {
        Ok(regex) => regex,
        Err(error) => return error.message,
    };
    let input = Input::new(text, regex.flags().unicode);
    match regex.find(&input, 0, false, &mut 0, 100_000) {
        Ok(Some(found)) => format!("{:?}", found.groups),
        Ok(None) => "none".to_owned(),
        Err(_) => "too long".to_owned(),
    }
}

#[test]
fn patterns_match_as_in_javascript() {
    assert_eq!(found("a(b)?c", "", "xac"), "[Some((1, 3)), None]");
    assert_eq!(found("(a*)*", "", "b"), "[Some((0, 0)), None]");
    assert_eq!(
        found("(z)((a+)?(b+)?(c))*", "", "zaacbbbcac"),
        "[Some((0, 10)), Some((0, 1)), Some((8, 10)), Some((8, 9)), None, Some((9, 10))]"
    );
    assert_eq!(
        found("(?<=(\\d+)(\\d+))$", "", "1053"),
        "[Some((4, 4)), Some((0, 1)), Some((1, 4))]"
    );
    assert_eq!(found("(?=(a))\\1", "", "aa"), "[Some((0, 1)), Some((0, 1))]");
    assert_eq!(found("^.$", "", "😀"), "none");
    assert_eq!(found("^.$", "u", "😀"), "[Some((0, 1))]");
    assert_eq!(found("(x+x+)+y", "", &"x".repeat(40)), "too long");
    assert_eq!(found("a{2,3}?", "", "aaa"), "[Some((0, 2))]");
    assert_eq!(found("(", "", ""), "a `(` without its `)`");
}
