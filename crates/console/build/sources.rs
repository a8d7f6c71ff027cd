//! The sources of the console: which files they are, and the key of what is built from them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use sha2::{Digest as _, Sha256};

/// What the bundle is built from, relative to the directory of the console.
const SOURCES: [&str; 7] = [
    "index.html",
    "package-lock.json",
    "package.json",
    "public",
    "src",
    "svelte.config.js",
    "vite.config.ts",
];

/// The packages: a change of these means another `npm ci`.
const PACKAGES: [&str; 2] = ["package-lock.json", "package.json"];

/// A source with its content.
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) content: Vec<u8>,
}

/// All sources in the order of their paths. Cargo looks at them before every build.
pub(super) fn read(console: &Path) -> io::Result<Vec<Source>> {
    let mut found = Vec::new();
    for name in SOURCES {
        let path = console.join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        walk(&path, Path::new(name), &mut found)?;
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn walk(from: &Path, relative: &Path, found: &mut Vec<Source>) -> io::Result<()> {
    if from.is_dir() {
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            walk(&entry.path(), &relative.join(entry.file_name()), found)?;
        }
    } else if from.exists() {
        found.push(Source { path: relative.to_path_buf(), content: fs::read(from)? });
    }
    Ok(())
}

/// The key of a build: the same sources give the same bundle.
pub(super) fn key(sources: &[Source]) -> String {
    of(sources.iter())
}

/// The key of the installed packages.
pub(super) fn packages_key(sources: &[Source]) -> String {
    of(sources.iter().filter(|source| PACKAGES.iter().any(|name| source.path == Path::new(name))))
}

fn of<'a>(sources: impl Iterator<Item = &'a Source>) -> String {
    let mut hasher = Sha256::new();
    for source in sources {
        let path = source.path.to_string_lossy();
        hasher.update(path.len().to_le_bytes());
        hasher.update(path.as_bytes());
        hasher.update(source.content.len().to_le_bytes());
        hasher.update(&source.content);
    }
    hex(&hasher.finalize())
}

/// The first half of a SHA-256 as text.
pub(super) fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(digest: &[u8]) -> String {
    let mut text = String::new();
    for byte in digest.iter().take(16) {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
