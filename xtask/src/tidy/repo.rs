//! The input of the checks: the text of every file, and the packages as cargo resolved them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::source::Source;
use crate::shell;

/// The repository as data.
pub(super) struct Repo {
    pub(super) files: Vec<File>,
    pub(super) packages: Vec<Package>,
}

/// A text file, its path relative to the root and written with `/`.
pub(super) struct File {
    pub(super) path: String,
    pub(super) text: String,
    /// Only for Rust files.
    pub(super) source: Option<Source>,
}

/// A package of the lock file, with the features and edges that cargo chose.
pub(super) struct Package {
    pub(super) name: String,
    pub(super) license: Option<String>,
    pub(super) is_ours: bool,
    pub(super) features: Vec<String>,
    pub(super) dependencies: Vec<Dependency>,
}

/// A dependency on another package, by its index.
pub(super) struct Dependency {
    pub(super) to: usize,
    pub(super) kind: DependencyKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DependencyKind {
    Normal,
    Build,
    Dev,
}

impl Repo {
    pub(super) fn load(root: &Path) -> Result<Self> {
        let mut files = Vec::new();
        for path in shell::files(root)? {
            let bytes = std::fs::read(root.join(&path)).with_context(|| format!("read {path}"))?;
            // Binary files, such as pictures, are not checked.
            if let Ok(text) = String::from_utf8(bytes) {
                files.push(File::new(path, text));
            }
        }
        let mut command = shell::cargo();
        command.args(["metadata", "--format-version", "1"]);
        let metadata = serde_json::from_str(&shell::output(&mut command, root)?)?;
        let packages = packages(&metadata).context("cargo metadata has an unknown shape")?;
        Ok(Self { files, packages })
    }

    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The Rust files with their lexed form.
    pub(super) fn rust(&self) -> impl Iterator<Item = (&File, &Source)> {
        self.files.iter().filter_map(|file| Some((file, file.source.as_ref()?)))
    }

    pub(super) fn package(&self, name: &str) -> Option<usize> {
        self.packages.iter().position(|package| package.name == name)
    }
}

impl File {
    pub(super) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let (path, text) = (path.into(), text.into());
        let source = is_kind(&path, "rs").then(|| Source::new(&path, &text));
        Self { path, text, source }
    }

    pub(super) fn is_kind(&self, extension: &str) -> bool {
        is_kind(&self.path, extension)
    }
}

fn is_kind(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}

fn packages(metadata: &Value) -> Option<Vec<Package>> {
    let mut index = BTreeMap::new();
    let mut packages = Vec::new();
    let members = metadata["workspace_members"].as_array()?;
    for package in metadata["packages"].as_array()? {
        index.insert(package["id"].as_str()?, packages.len());
        packages.push(Package {
            name: package["name"].as_str()?.to_owned(),
            license: package["license"].as_str().map(str::to_owned),
            is_ours: members.contains(&package["id"]),
            features: Vec::new(),
            dependencies: Vec::new(),
        });
    }
    for node in metadata["resolve"]["nodes"].as_array()? {
        let package = packages.get_mut(*index.get(node["id"].as_str()?)?)?;
        for feature in node["features"].as_array()? {
            package.features.push(feature.as_str()?.to_owned());
        }
        for dep in node["deps"].as_array()? {
            let to = *index.get(dep["pkg"].as_str()?)?;
            for dep_kind in dep["dep_kinds"].as_array()? {
                let kind = match dep_kind["kind"].as_str() {
                    None => DependencyKind::Normal,
                    Some("build") => DependencyKind::Build,
                    Some(_) => DependencyKind::Dev,
                };
                package.dependencies.push(Dependency { to, kind });
            }
        }
    }
    Some(packages)
}

#[cfg(test)]
impl Repo {
    /// A repository in memory with these files.
    pub(super) fn with_files(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| File::new(*path, *text)).collect();
        Self { files, packages: Vec::new() }
    }

    /// A repository in memory with these edges; packages named `meantime-…` and `xtask` belong to
    /// it.
    pub(super) fn with_dependencies(dependencies: &[(&str, DependencyKind, &str)]) -> Self {
        let mut repo = Self::with_files(&[]);
        for (from, kind, to) in dependencies {
            let from = repo.add_package(from);
            let to = repo.add_package(to);
            repo.packages[from].dependencies.push(Dependency { to, kind: *kind });
        }
        repo
    }

    pub(super) fn add_package(&mut self, name: &str) -> usize {
        self.package(name).unwrap_or_else(|| {
            self.packages.push(Package {
                name: name.to_owned(),
                license: None,
                is_ours: name.starts_with("meantime-") || name == "xtask",
                features: Vec::new(),
                dependencies: Vec::new(),
            });
            self.packages.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_metadata_becomes_packages_with_edges() {
        let metadata = serde_json::json!({
            "workspace_members": ["a-id"],
            "packages": [
                {"id": "a-id", "name": "a", "license": "MIT"},
                {"id": "b-id", "name": "b", "license": null},
            ],
            "resolve": {"nodes": [
                {"id": "a-id", "features": [], "deps": [{"pkg": "b-id", "dep_kinds": [
                    {"kind": null}, {"kind": "dev"}
                ]}]},
                {"id": "b-id", "features": ["std"], "deps": []},
            ]},
        });
        let packages = packages(&metadata).unwrap();
        let kinds: Vec<(usize, DependencyKind)> =
            packages[0].dependencies.iter().map(|e| (e.to, e.kind)).collect();
        assert_eq!(kinds, [(1, DependencyKind::Normal), (1, DependencyKind::Dev)]);
        assert!(packages[0].is_ours && !packages[1].is_ours);
        assert_eq!(packages[1].features, ["std"]);
        assert_eq!(packages[1].license, None);
    }
}
