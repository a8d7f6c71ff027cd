//! Runs the locked npm build in a directory of its own below `target`.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::sources::{self, Source};

/// Builds the console, or takes the bundle that was built from the same sources before. An error is
/// one line for people.
pub(super) fn build(console: &Path, staging: &Path) -> Result<PathBuf, String> {
    let sources = sources::read(console)
        .map_err(|error| format!("the sources of the console cannot be read: {error}"))?;
    let dist = staging.join(format!("dist-{}", sources::key(&sources)));
    let io = |error: io::Error| format!("{} cannot be written: {error}", staging.display());
    fs::create_dir_all(staging).map_err(io)?;
    // Builds of two profiles may run at the same time.
    let lock = File::create(staging.join("lock")).map_err(io)?;
    lock.lock().map_err(io)?;
    if dist.join("index.html").is_file() {
        return Ok(dist);
    }
    let work = staging.join("work");
    copy(&sources, &work).map_err(io)?;
    install(&sources, &work, staging)?;
    let made = work.join("dist");
    npm(&["run", "build"], &work, staging)?;
    remove_old(staging).map_err(io)?;
    fs::rename(&made, &dist).map_err(io)?;
    Ok(dist)
}

/// Replaces the sources of the last build; the installed packages stay.
fn copy(sources: &[Source], work: &Path) -> io::Result<()> {
    fs::create_dir_all(work)?;
    for entry in fs::read_dir(work)? {
        let entry = entry?;
        match entry.file_name() {
            name if name == OsStr::new("node_modules") => {}
            _ if entry.file_type()?.is_dir() => fs::remove_dir_all(entry.path())?,
            _ => fs::remove_file(entry.path())?,
        }
    }
    for source in sources {
        let path = work.join(&source.path);
        fs::create_dir_all(path.parent().unwrap_or(work))?;
        fs::write(path, &source.content)?;
    }
    Ok(())
}

/// Installs the packages of the lock file unless they are installed. Tools of the tests are left
/// out.
fn install(sources: &[Source], work: &Path, staging: &Path) -> Result<(), String> {
    let key = sources::packages_key(sources);
    let marker = work.join("node_modules/.meantime-key");
    if fs::read_to_string(&marker).is_ok_and(|installed| installed == key) {
        return Ok(());
    }
    let options = ["ci", "--omit=dev", "--no-audit", "--no-fund", "--fetch-retries=1"];
    npm(&options, work, staging)?;
    fs::write(&marker, key).map_err(|error| error.to_string())
}

fn npm(args: &[&str], work: &Path, staging: &Path) -> Result<(), String> {
    let path = staging.join("npm.log");
    let log = File::create(&path).map_err(|error| error.to_string())?;
    let errors = log.try_clone().map_err(|error| error.to_string())?;
    let mut command = Command::new("npm");
    command.args(args).current_dir(work).stdout(log).stderr(errors);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("`npm {}` failed; see {}", args.join(" "), path.display())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err("npm was not found: install Node 20.19 or later, then build again".to_owned())
        }
        Err(error) => Err(format!("npm cannot be started: {error}")),
    }
}

/// Bundles of older sources are of no use, and a bundle is quickly made again.
fn remove_old(staging: &Path) -> io::Result<()> {
    for entry in fs::read_dir(staging)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("dist-") {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}
