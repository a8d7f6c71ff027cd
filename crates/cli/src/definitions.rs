//! Finds and reads definition files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use meantime_core::{Source, SourceFile};
use meantime_journey::JOURNEY_NOTATION;
use meantime_journey::surface::references;
use meantime_server::SourceFormats;

use crate::exit::UsageError;

/// The file names of definitions, for error messages.
const EXPECTED_NAMES: &str = "expected *.flow.js, *.flow.ts, *.journey.yaml or *.bpmn";

/// A definition file with its source and the files that it refers to.
pub(crate) struct DefinitionFile {
    pub(crate) path: PathBuf,
    pub(crate) notation: &'static str,
    pub(crate) media_type: &'static str,
    pub(crate) source: Source,
}

/// Reads a file, or all definitions of a directory tree, sorted by path. Files that they refer to
/// are looked up beside each definition, then in the catalogs.
pub(crate) fn find(path: &Path, catalogs: &[PathBuf]) -> Result<Vec<DefinitionFile>> {
    let formats = SourceFormats::default();
    let mut paths = Vec::new();
    let meta = fs::metadata(path).with_context(|| path.display().to_string())?;
    if meta.is_dir() {
        collect_files(path, &mut paths)?;
        paths.retain(|path| formats.notation_of_file(&file_name(path)).is_some());
        paths.sort();
    } else {
        paths.push(path.to_owned());
    }
    paths.into_iter().map(|path| read_definition(path, &formats, catalogs)).collect()
}

/// Like [`find`], but finding no definition is a usage error.
pub(crate) fn find_at_least_one(path: &Path, catalogs: &[PathBuf]) -> Result<Vec<DefinitionFile>> {
    let found = find(path, catalogs)?;
    if found.is_empty() {
        let text = format!("{}: no definitions found ({EXPECTED_NAMES})", path.display());
        return Err(UsageError(text).into());
    }
    Ok(found)
}

/// Whether a file name is that of a definition.
pub(crate) fn is_definition(path: &Path) -> bool {
    SourceFormats::default().notation_of_file(&file_name(path)).is_some()
}

fn collect_files(directory: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    for entry in entries {
        let path = entry?.path();
        let hidden = file_name(&path).starts_with('.') || file_name(&path) == "node_modules";
        if path.is_dir() && !hidden {
            collect_files(&path, found)?;
        } else if path.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

fn read_definition(
    path: PathBuf,
    formats: &SourceFormats,
    catalogs: &[PathBuf],
) -> Result<DefinitionFile> {
    let file_name = file_name(&path);
    let known = formats.notation_of_file(&file_name).zip(formats.media_type_of_file(&file_name));
    let unknown = || UsageError(format!("{}: {EXPECTED_NAMES}", path.display()));
    let (notation, media_type) = known.ok_or_else(unknown)?;
    let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
    let text = meantime_core::text_of(&bytes).with_context(|| path.display().to_string())?;
    let files = match notation {
        JOURNEY_NOTATION => referenced_files(&path, text, catalogs),
        _ => Vec::new(),
    };
    let source = Source { name: file_name, text: text.into(), files };
    Ok(DefinitionFile { path, notation, media_type, source })
}

/// Files that a journey refers to. A file that cannot be read is left out: compiling the journey
/// reports it with its position.
fn referenced_files(path: &Path, text: &str, catalogs: &[PathBuf]) -> Vec<SourceFile> {
    let beside = path.parent().unwrap_or(Path::new("."));
    let directories: Vec<&Path> =
        std::iter::once(beside).chain(catalogs.iter().map(PathBuf::as_path)).collect();
    let look = |name: String| {
        let text = directories
            .iter()
            .find_map(|directory| fs::read_to_string(directory.join(&name)).ok())?;
        Some(SourceFile { name, text })
    };
    let mut names = references(text);
    names.sort();
    names.into_iter().filter_map(look).collect()
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}
