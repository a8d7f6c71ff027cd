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

use std::path::{Path, PathBuf};
use std::{env, fs};

use sources::hash;

/// What the environment asks for.
const SWITCH: &str = "MEANTIME_CONSOLE";
/// A directory with a console that somebody else built.
const DIST: &str = "MEANTIME_CONSOLE_DIST";

/// A console that can be embedded, or the reason why there is none.
type Built = Result<PathBuf, String>;

fn main() {
    println!("cargo::rerun-if-env-changed={SWITCH}");
    println!("cargo::rerun-if-env-changed={DIST}");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let code = match built(&out).and_then(|dist| embed(&dist, &out)) {
        Ok(code) => code,
        Err(reason) => format!(
            "/// The page; empty without a console.\npub static PAGE: &str = \"\";\n\
             /// The hash of the page.\npub static PAGE_HASH: &str = \"\";\n\
             /// Its files.\npub static FILES: &[ConsoleFile] = &[];\n\
             /// Why there is no console.\npub static MISSING: Option<&str> = Some({reason:?});\n"
        ),
    };
    fs::write(out.join("console.rs"), code).expect("OUT_DIR can be written");
}

fn built(out: &Path) -> Built {
    if let Some(dist) = env::var_os(DIST) {
        println!("cargo::rerun-if-changed={}", Path::new(&dist).display());
        return Ok(PathBuf::from(dist));
    }
    // Checks, lints and tests use the profiles `dev` and `test`, for which cargo says `debug`.
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    match env::var(SWITCH).as_deref() {
        Ok("on") => {}
        Ok("off") => return Err(format!("this binary was built with {SWITCH}=off")),
        Ok(other) => return Err(format!("{SWITCH} is {other:?} and can be `on` or `off`")),
        Err(_) if is_release => {}
        Err(_) => {
            return Err(format!(
                "this is a debug build: build with --release, or with {SWITCH}=on"
            ));
        }
    }
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let console = manifest.join("../../console");
    bundle::build(&console, &staging(out)).inspect_err(|reason| {
        // A path that does not exist makes cargo ask again next time, when npm may be there.
        println!("cargo::rerun-if-changed={}", out.join("not-built").display());
        println!("cargo::warning=the console is not part of this build: {reason}");
    })
}

/// `target/console`: shared by all profiles, so that one build serves them all.
fn staging(out: &Path) -> PathBuf {
    // Cargo marks its target directory with this file.
    let target = out.ancestors().find(|dir| dir.join("CACHEDIR.TAG").is_file());
    target.unwrap_or(out).join("console")
}

/// Copies the files to OUT_DIR, where they stay as long as the data that names them, and writes the
/// data.
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
        .filter(|name| name.ends_with(".gz"))
        .collect();
    names.sort();
    if names.is_empty() {
        return Err(format!("{shown}/assets holds no compressed files (*.gz)"));
    }
    for name in &names {
        let copy = copies.join(name);
        fs::copy(dist.join("assets").join(name), &copy).map_err(|error| error.to_string())?;
        let path = format!("assets/{}", name.trim_end_matches(".gz"));
        code.push_str(&format!(
            "    ConsoleFile {{ path: {path:?}, gzip: include_bytes!({:?}) }},\n",
            copy.display().to_string()
        ));
    }
    code.push_str("];\n");
    Ok(code)
}
