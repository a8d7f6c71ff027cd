//! The language of flow scripts: its semantics, its diagnostics, its saved state.

mod bounds;
mod diagnostics;
mod host;
mod language;
mod library;
mod saving;
