//! Implementations of library functions and methods, one file per group.

mod calendar;
mod callback;
mod collection;
mod date;
mod dispatch;
mod effect;
mod encode;
mod instant;
mod list;
mod math;
mod number;
mod object;
mod pattern;
mod text;
