//! Tests of what only this crate can see.
