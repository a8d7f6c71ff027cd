//! Suggestions for misspelt names, and detection of probable misspellings.

/// The known name that is closest to a misspelt one, if any is close.
pub(crate) fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = match name.chars().count() {
        0..=2 => 1,
        3..=5 => 2,
        _ => 3,
    };
    let distances = known.filter(|it| *it != name).map(|it| (distance(name, it), it));
    // Of equally similar names the first in alphabetical order, so that the result is
    // deterministic.
    distances
        .filter(|(distance, it)| *distance <= allowed && *distance < it.len())
        .min()
        .map(|(_, it)| it)
}

/// Whether two names are so similar that one may be a misspelling of the other. Numbered names and
/// plurals do not count.
pub(super) fn resembles(one: &str, other: &str) -> bool {
    let plural =
        |a: &str, b: &str| a.strip_suffix('s') == Some(b) || a.strip_suffix("es") == Some(b);
    let letters = |text: &str| text.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    if one == other || plural(one, other) || plural(other, one) || letters(one) == letters(other) {
        return false;
    }
    let shorter = one.chars().count().min(other.chars().count());
    let allowed = match shorter {
        0..=3 => 0,
        4..=6 => 1,
        _ => 2,
    };
    one.eq_ignore_ascii_case(other) || distance(one, other) <= allowed
}

/// The number of letters compared; more would take long and add little.
const MAX_COMPARED_LETTERS: usize = 64;

/// The number of letters to insert, remove, replace or swap with a neighbour. A different case
/// counts as no change.
fn distance(from: &str, to: &str) -> usize {
    let letters =
        |text: &str| text.to_lowercase().chars().take(MAX_COMPARED_LETTERS).collect::<String>();
    strsim::osa_distance(&letters(from), &letters(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_families_are_not() {
        assert!(resembles("coutner", "counter"));
        assert!(resembles("userid", "userId"));
        assert!(!resembles("items", "item"));
        assert!(!resembles("result1", "result2"));
        assert!(!resembles("a", "b"));
        assert_eq!(closest("lenght", ["length", "slice"].into_iter()), Some("length"));
        assert_eq!(closest("Taks", ["Task", "Time"].into_iter()), Some("Task"));
        assert_eq!(closest("zzz", ["Task"].into_iter()), None);
    }
}
