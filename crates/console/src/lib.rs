//! The files of the console, compressed, as data. Builds them with the locked npm packages, but
//! knows neither HTTP nor the engine.

mod files;

pub use files::{ConsoleFile, FILES, MISSING, PAGE, PAGE_HASH};
