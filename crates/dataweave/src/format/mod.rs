//! Numbers and dates in the patterns of Java: `#,##0.00`, `yyyy-MM-dd`.

mod date_pattern;
mod date_read;
mod date_write;
mod locale;
mod number_pattern;
mod number_read;
mod number_write;

pub(crate) use date_pattern::DatePattern;
pub(crate) use locale::Locale;
pub(crate) use number_pattern::NumberPattern;
