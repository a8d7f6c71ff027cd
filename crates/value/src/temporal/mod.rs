//! Dates, times and periods that behave as in `java.time`.

mod iso;
mod offset_time;
mod period;

pub use iso::{
    at_zone, format_date_time, format_local_date_time, format_offset, format_time,
    format_time_zone, parse_date, parse_date_time, parse_local_date_time, parse_local_time,
    parse_time, parse_time_zone,
};
pub use offset_time::{OffsetTime, nanoseconds};
pub use period::Period;
