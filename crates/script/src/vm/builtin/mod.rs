//! What library functions and methods do, one file per family.

mod date;
mod dispatch;
mod effect;
mod list;
mod math;
mod number;
mod object;
mod text;
