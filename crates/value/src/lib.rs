//! The value model that the expression languages compute with.
//!
//! Values are immutable, cheap to clone and iterate in a fixed order. Numbers are exact decimals,
//! objects keep the order of their keys and may repeat one, dates and periods behave as in
//! `java.time`. Values that only one language knows, such as its functions and types, are
//! [`Foreign`] values. Nothing here reads a clock, a random number, a file or a socket (I6).

mod array;
pub mod base64;
mod extent;
mod foreign;
pub mod json;
mod kind;
mod model;
mod number;
mod number_text;
mod object;
mod pattern;
pub mod temporal;
pub mod text;

pub use array::Array;
pub use extent::ValueSize;
pub use foreign::{Foreign, Opaque};
pub use kind::Kind;
pub use model::{Annotated, Range, Value};
pub use number::{Number, NumberError};
pub use object::{Entry, Key, KeyDetail, Namespace, Object};
pub use pattern::{InvalidPattern, MatchTooCostly, Pattern, PatternMatch};
pub use text::Text;
