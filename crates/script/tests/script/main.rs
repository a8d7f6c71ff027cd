//! The language of flow scripts: what it means, what it refuses, what it saves.

mod bounds;
mod diagnostics;
mod host;
mod language;
mod library;
mod saving;
