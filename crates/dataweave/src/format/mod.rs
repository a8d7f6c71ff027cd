//! Numbers and dates in the patterns of Java: `#,##0.00`, `yyyy-MM-dd`.

mod date_read;
mod date_write;
mod locale;
mod number_pattern;
mod number_read;
mod number_write;

pub(crate) use date_read::read_date;
pub(crate) use date_write::write_date;
pub(crate) use locale::Locale;
pub(crate) use number_pattern::NumberPattern;
