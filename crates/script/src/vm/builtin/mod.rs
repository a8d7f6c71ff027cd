//! Implementations of library functions and methods, one file per group.

mod date;
mod dispatch;
mod effect;
mod list;
mod math;
mod number;
mod object;
mod text;
