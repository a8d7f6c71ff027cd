//! Cursor pagination of lists.

use std::str::FromStr;

use meantime_kernel::store::Page as StorePage;
use utoipa::ToSchema;

use crate::problem::{Problem, ProblemCode};
use crate::wire::Page;

/// Entries of a page by default.
const DEFAULT_LIMIT: usize = 50;
/// Maximum number of entries of a page.
const MAX_LIMIT: usize = 1_000;

/// The page size: 50 by default, clamped to 1,000.
pub(crate) fn limit(asked: Option<usize>) -> Result<usize, Problem> {
    match asked {
        None => Ok(DEFAULT_LIMIT),
        Some(0) => Err(Problem::new(ProblemCode::InvalidQuery, "limit is at least 1")),
        Some(asked) => Ok(asked.min(MAX_LIMIT)),
    }
}

/// The page to request from the store: one row more than shown, to know whether another page
/// follows.
pub(crate) fn store_page<K: Copy>(after: Option<K>, limit: usize) -> StorePage<K> {
    StorePage { after, limit: limit + 1 }
}

/// Parses a cursor that is the text of a key.
pub(crate) fn parse_cursor<K: FromStr>(text: Option<&str>) -> Result<Option<K>, Problem> {
    read_cursor(text, |text| text.parse().ok())
}

/// Parses a cursor with a function.
pub(crate) fn read_cursor<K>(
    text: Option<&str>,
    read: impl FnOnce(&str) -> Option<K>,
) -> Result<Option<K>, Problem> {
    let bad = |text: &str| {
        Problem::new(ProblemCode::InvalidCursor, format!("{text:?} is not a cursor of this list"))
    };
    text.map(|text| read(text).ok_or_else(|| bad(text))).transpose()
}

/// Converts the rows of [`store_page`] to a page.
pub(crate) fn to_page<R, T: ToSchema + for<'a> From<&'a R>>(
    mut rows: Vec<R>,
    limit: usize,
    key: impl FnOnce(&R) -> String,
) -> Page<T> {
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next_cursor = rows.last().filter(|_| more).map(key);
    Page { items: rows.iter().map(T::from).collect(), next_cursor }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_at_least_one_and_clamped() {
        assert_eq!(limit(None).unwrap(), 50);
        assert_eq!(limit(Some(7)).unwrap(), 7);
        assert_eq!(limit(Some(100_000)).unwrap(), 1_000);
        assert_eq!(limit(Some(0)).unwrap_err().code(), "invalid_query");
    }

    #[test]
    fn a_page_names_its_last_entry_only_when_something_follows() {
        let names = vec!["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let first = to_page::<String, String>(names.clone(), 2, Clone::clone);
        assert_eq!((first.items.len(), first.next_cursor.as_deref()), (2, Some("b")));
        let all = to_page::<String, String>(names, 3, Clone::clone);
        assert_eq!((all.items.len(), all.next_cursor), (3, None));
    }

    #[test]
    fn a_foreign_cursor_is_refused() {
        assert_eq!(parse_cursor::<u64>(Some("x")).unwrap_err().code(), "invalid_cursor");
        assert_eq!(parse_cursor::<u64>(Some("7")).unwrap(), Some(7));
    }
}
