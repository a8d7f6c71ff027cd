//! Builds the console and writes it as Rust data.
//!
//! ```text
//!  MEANTIME_CONSOLE_DIST ──────────────────────────────────────────────┐
//!  console/{sources} ─ key ─► target/console/dist-KEY (kept) ──────────┤
//!                       └───► target/console/work ─ npm ci, build ─────┴─► OUT_DIR/console.rs
//! ```
//!
//! Nothing is written outside of `target`, and nothing fails: a console that cannot be built is
//! replaced by the reason, which the server shows at `/`.

#[path = "build/bundle.rs"]
mod bundle;
#[path = "build/sources.rs"]
mod sources;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use sources::hash;

/// What the environment asks for.
const SWITCH: &str = "MEANTIME_CONSOLE";
/// A directory with a console that somebody else built.
const DIST: &str = "MEANTIME_CONSOLE_DIST";

fn main() {
    println!("cargo::rerun-if-env-changed={SWITCH}");
    println!("cargo::rerun-if-env-changed={DIST}");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let code = match is_wanted() {
        Err(reason) => missing(&reason),
        Ok(()) => built(&out).and_then(|dist| embed(&dist, &out)).unwrap_or_else(|reason| {
            // A path that does not exist makes cargo ask again next time, when npm may be there.
            println!("cargo::rerun-if-changed={}", out.join("not-built").display());
            println!("cargo::warning=the console is not part of this build: {reason}");
            missing(&reason)
        }),
    };
    fs::write(out.join("console.rs"), code).expect("OUT_DIR can be written");
}

/// Whether this build is to contain the console; an error says why it is not.
fn is_wanted() -> Result<(), String> {
    // Checks, lints and tests use the profiles `dev` and `test`, for which cargo says `debug`.
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    match env::var(SWITCH).as_deref() {
        Ok("on") => Ok(()),
        Ok("off") => Err(format!("this binary was built with {SWITCH}=off")),
        Ok(other) => Err(format!("{SWITCH} was {other:?} and can be `on` or `off`")),
        Err(_) if is_release || env::var_os(DIST).is_some() => Ok(()),
        Err(_) => Err(format!("this is a debug build: build with --release, or with {SWITCH}=on")),
    }
}

/// The directory with the built console.
fn built(out: &Path) -> Result<PathBuf, String> {
    if let Some(dist) = env::var_os(DIST) {
        println!("cargo::rerun-if-changed={}", Path::new(&dist).display());
        return Ok(PathBuf::from(dist));
    }
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    bundle::build(&manifest.join("../../console"), &staging(out))
}

/// The data of a binary without a console.
fn missing(reason: &str) -> String {
    format!(
        "/// The page; empty without a console.\npub static PAGE: &str = \"\";\n\
         /// The hash of the page.\npub static PAGE_HASH: &str = \"\";\n\
         /// Its files.\npub static FILES: &[ConsoleFile] = &[];\n\
         /// Why there is no console.\npub static MISSING: Option<&str> = Some({reason:?});\n"
    )
}

/// `target/console`: shared by all profiles, so that one build serves them all.
fn staging(out: &Path) -> PathBuf {
    // Cargo marks its target directory with this file.
    let target = out.ancestors().find(|dir| dir.join("CACHEDIR.TAG").is_file());
    target.unwrap_or(out).join("console")
}

/// Copies the files to `OUT_DIR`, where they stay as long as the data that names them, and writes
/// the data.
fn embed(dist: &Path, out: &Path) -> Result<String, String> {
    let shown = dist.display();
    let page = fs::read_to_string(dist.join("index.html"))
        .map_err(|error| format!("{shown} holds no index.html: {error}"))?;
    let mut code = format!(
        "/// The page.\npub static PAGE: &str = {page:?};\n\
         /// The hash of the page.\npub static PAGE_HASH: &str = {:?};\n\
         /// Why there is no console.\npub static MISSING: Option<&str> = None;\n\
         /// Its files.\npub static FILES: &[ConsoleFile] = &[\n",
        hash(page.as_bytes())
    );
    let copies = out.join("assets");
    fs::create_dir_all(&copies).map_err(|error| error.to_string())?;
    let files = fs::read_dir(dist.join("assets")).map_err(|error| format!("{shown}: {error}"))?;
    let mut names: Vec<String> = files
        .filter_map(|file| file.ok()?.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".gz").map(str::to_owned))
        .collect();
    names.sort();
    if names.is_empty() {
        return Err(format!("{shown}/assets holds no compressed files (*.gz)"));
    }
    for name in &names {
        let copy = copies.join(name);
        let compressed = dist.join("assets").join(format!("{name}.gz"));
        fs::copy(compressed, &copy).map_err(|error| error.to_string())?;
        let (path, bytes) = (format!("assets/{name}"), copy.display().to_string());
        // Writing to a String cannot fail.
        let _ = writeln!(
            code,
            "    ConsoleFile {{ path: {path:?}, gzip: include_bytes!({bytes:?}) }},"
        );
    }
    code.push_str("];\n");
    Ok(code)
}
