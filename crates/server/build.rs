//! Embeds the pages about error codes into the binary, so that `/docs` has all of them.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let pages = Path::new(&root).join("../../docs/errors");
    println!("cargo::rerun-if-changed={}", pages.display());
    let mut lines = Vec::new();
    for entry in fs::read_dir(&pages)? {
        let path = entry?.path().canonicalize()?;
        let code = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.extension().is_some_and(|it| it == "md") && code != "README" {
            lines.push(format!("({code:?}, include_str!({:?})),", path.display().to_string()));
        }
    }
    lines.sort();
    let text = format!("&[\n{}\n]\n", lines.join("\n"));
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("error_pages.rs"), text)
}
