//! Numbers and dates in the patterns of Java: `#,##0.00`, `yyyy-MM-dd`.

mod date_pattern;
mod date_read;
mod date_write;
mod locale;
mod number_pattern;
mod number_read;
mod number_write;

pub(super) use date_pattern::DatePattern;
pub(super) use date_read::Parsed as ParsedDate;
pub(super) use locale::Locale;
pub(super) use number_pattern::NumberPattern;
