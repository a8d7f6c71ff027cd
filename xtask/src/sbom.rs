//! `sbom`: a bill of materials in the JSON format of `CycloneDX`.
//!
//! It lists the Rust packages that the shipped binary consists of and those that build and test it,
//! and the packages of the console and of the SDKs. It is made from lock files only, without time
//! or randomness: the same sources give the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::shell::{cargo, output, root};

/// The package that becomes the shipped binary.
const SHIPPED_PACKAGE: &str = "meantime-cli";

/// Where the document goes when no file is named.
const DEFAULT_SBOM_FILE: &str = "target/meantime.cdx.json";

pub(crate) fn run(args: &[String]) -> Result<()> {
    let root = root()?;
    let file = match args {
        [] => root.join(DEFAULT_SBOM_FILE),
        [file] => PathBuf::from(file),
        _ => bail!("`sbom` takes the name of one file"),
    };
    let mut command = cargo();
    command.args(["metadata", "--format-version", "1", "--all-features", "--locked"]);
    let metadata = serde_json::from_str(&output(&mut command, &root)?)?;
    let read =
        |path: &str| std::fs::read_to_string(root.join(path)).with_context(|| path.to_owned());
    let npm = serde_json::from_str(&read("sdks/typescript/package-lock.json")?)?;
    let sources = SbomSources {
        metadata: &metadata,
        checksums: checksums(&read("Cargo.lock")?),
        npm: &npm,
        console: &serde_json::from_str(&read("console/package-lock.json")?)?,
        python: &read("sdks/python/pyproject.toml")?,
    };
    let document = document(&sources)?;
    if let Some(directory) = file.parent() {
        std::fs::create_dir_all(directory)?;
    }
    std::fs::write(&file, format!("{document:#}\n"))?;
    let count = document["components"].as_array().map_or(0, Vec::len);
    println!("{}: {count} components", file.display());
    Ok(())
}

/// What the document is made from.
struct SbomSources<'a> {
    metadata: &'a Value,
    /// SHA-256 by name and version.
    checksums: BTreeMap<(String, String), String>,
    npm: &'a Value,
    console: &'a Value,
    python: &'a str,
}

fn document(sources: &SbomSources<'_>) -> Result<Value> {
    let cargo = CargoMetadata::new(sources.metadata)?;
    let mut components: BTreeMap<String, Value> = BTreeMap::new();
    let mut dependencies: BTreeMap<String, Value> = BTreeMap::new();
    let shipped = cargo.closure(SHIPPED_PACKAGE)?;
    for (id, package) in &cargo.packages {
        let reference = cargo_reference(package)?;
        let (name, version) = (text(package, "name")?, text(package, "version")?);
        let licence = package["license"].as_str();
        let licence = licence.with_context(|| format!("{name} {version} names no licence"))?;
        let mut component = json!({
            "type": if name == SHIPPED_PACKAGE { "application" } else { "library" },
            "bom-ref": reference,
            "name": name,
            "version": version,
            "scope": if shipped.contains(id) { "required" } else { "excluded" },
            "licenses": [{ "expression": licence.replace('/', " OR ") }],
            "purl": reference,
        });
        let checksum = sources.checksums.get(&(name.to_owned(), version.to_owned()));
        if let Some(checksum) = checksum {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
        }
        components.insert(reference.clone(), component);
        let dependencies_of: BTreeSet<String> =
            cargo.dependencies_of(id).map(cargo_reference).collect::<Result<_>>()?;
        dependencies
            .insert(reference.clone(), json!({ "ref": reference, "dependsOn": dependencies_of }));
    }
    ensure!(bundled(sources.npm).is_empty(), "the TypeScript SDK has no dependencies at run time");
    let sdk = npm_components(sources.npm, &BTreeSet::new())?;
    let console = npm_components(sources.console, &bundled(sources.console))?;
    // A package that several need counts as shipped if one of them ships it.
    for component in sdk.into_iter().chain(console).chain(python_components(sources.python)) {
        let key = component["bom-ref"].to_string();
        if component["scope"] == "excluded" && components.contains_key(&key) {
            continue;
        }
        components.insert(key, component);
    }
    let (_, main) = cargo.package_named(SHIPPED_PACKAGE)?;
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "meantime",
                "name": "meantime",
                "version": text(main, "version")?,
                "licenses": [{ "expression": text(main, "license")? }],
            }
        },
        "components": components.into_values().collect::<Vec<_>>(),
        "dependencies": dependencies.into_values().collect::<Vec<_>>(),
    }))
}

/// The packages of `cargo metadata`, by id.
struct CargoMetadata<'a> {
    packages: BTreeMap<&'a str, &'a Value>,
    nodes: BTreeMap<&'a str, &'a Value>,
}

impl<'a> CargoMetadata<'a> {
    fn new(metadata: &'a Value) -> Result<Self> {
        let by_id = |list: &'a Value| -> Result<BTreeMap<&'a str, &'a Value>> {
            let list = list.as_array().context("cargo metadata has an unknown shape")?;
            list.iter().map(|it| Ok((text(it, "id")?, it))).collect()
        };
        let packages = by_id(&metadata["packages"])?;
        Ok(Self { packages, nodes: by_id(&metadata["resolve"]["nodes"])? })
    }

    fn package_named(&self, name: &str) -> Result<(&'a str, &'a Value)> {
        let mut packages = self.packages.iter().map(|(id, package)| (*id, *package));
        let found = packages.find(|(_, package)| package["name"] == name);
        found.with_context(|| format!("there is no package {name}"))
    }

    /// What a package needs to be built and run.
    fn dependencies_of(&self, id: &str) -> impl Iterator<Item = &'a Value> {
        self.dependency_ids(id).into_iter().filter_map(|id| self.packages.get(id).copied())
    }

    fn dependency_ids(&self, id: &str) -> Vec<&'a str> {
        let dependencies_of = self.nodes.get(id).and_then(|node| node["deps"].as_array());
        let is_for_tests = |need: &&Value| {
            let kinds = need["dep_kinds"].as_array().into_iter().flatten();
            kinds.clone().count() > 0 && kinds.clone().all(|kind| kind["kind"] == "dev")
        };
        let dependencies_of =
            dependencies_of.into_iter().flatten().filter(|need| !is_for_tests(need));
        dependencies_of.filter_map(|need| need["pkg"].as_str()).collect()
    }

    /// A package and everything that it needs.
    fn closure(&self, name: &str) -> Result<BTreeSet<&'a str>> {
        let mut found = BTreeSet::new();
        let mut next = vec![self.package_named(name)?.0];
        while let Some(id) = next.pop() {
            if found.insert(id) {
                next.extend(self.dependency_ids(id));
            }
        }
        Ok(found)
    }
}

fn cargo_reference(package: &Value) -> Result<String> {
    Ok(format!("pkg:cargo/{}@{}", text(package, "name")?, text(package, "version")?))
}

/// The checksums of a lock file.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let field = |part: &str, name: &str| {
        let line = part.lines().find_map(|line| line.strip_prefix(&format!("{name} = \"")))?;
        Some(line.strip_suffix('"')?.to_owned())
    };
    let packages = lock.split("[[package]]").skip(1);
    packages
        .filter_map(|part| {
            Some(((field(part, "name")?, field(part, "version")?), field(part, "checksum")?))
        })
        .collect()
}

/// The tools that build the console; everything else that it depends on is part of the page.
const CONSOLE_TOOLS: [&str; 2] = ["@sveltejs/vite-plugin-svelte", "vite"];

/// The names of the packages in the bundle of the console, with what they depend on.
fn bundled(lock: &Value) -> BTreeSet<String> {
    let names = |package: &Value| {
        let dependencies = package["dependencies"].as_object();
        dependencies.into_iter().flat_map(|it| it.keys().cloned()).collect::<Vec<_>>()
    };
    let mut open = names(&lock["packages"][""]);
    open.retain(|name| !CONSOLE_TOOLS.contains(&name.as_str()));
    let mut found = BTreeSet::new();
    while let Some(name) = open.pop() {
        if found.insert(name.clone()) {
            open.extend(names(&lock["packages"][format!("node_modules/{name}")]));
        }
    }
    found
}

/// The packages of an npm lock file; those that are `shipped` are marked.
fn npm_components(lock: &Value, shipped: &BTreeSet<String>) -> Result<Vec<Value>> {
    let packages =
        lock["packages"].as_object().context("package-lock.json has an unknown shape")?;
    let mut components = Vec::new();
    for (path, package) in packages.iter().filter(|(path, _)| !path.is_empty()) {
        let name = path.rsplit_once("node_modules/").map_or(path.as_str(), |(_, name)| name);
        let version = text(package, "version")?;
        let licence = package["license"].as_str();
        let licence = licence.with_context(|| format!("{name} {version} names no licence"))?;
        let reference = format!("pkg:npm/{}@{version}", name.replace('@', "%40"));
        let is_shipped = shipped.contains(name);
        components.push(json!({
            "type": "library",
            "bom-ref": reference,
            "name": name,
            "version": version,
            "scope": if is_shipped { "required" } else { "excluded" },
            "licenses": [{ "expression": licence }],
            "purl": reference,
        }));
    }
    Ok(components)
}

/// What the Python SDK needs: nothing at run time, and its build system.
fn python_components(project: &str) -> Vec<Value> {
    let list = |name: &str| {
        let line = project.lines().find_map(|line| line.strip_prefix(&format!("{name} = [")));
        let line = line.unwrap_or_default().trim_end().trim_end_matches(']').to_owned();
        let names = line.split(',').map(|it| it.trim().trim_matches('"').to_owned());
        names.filter(|it| !it.is_empty()).collect::<Vec<_>>()
    };
    let of = |requirement: String, scope: &str| {
        let end = requirement.find(|c: char| "<>=!~ [;".contains(c)).unwrap_or(requirement.len());
        let (name, range) = requirement.split_at(end);
        json!({
            "type": "library",
            "bom-ref": format!("pkg:pypi/{name}"),
            "name": name,
            "scope": scope,
            "purl": format!("pkg:pypi/{name}"),
            "properties": [{ "name": "requirement", "value": range }],
        })
    };
    let needed = list("dependencies").into_iter().map(|it| of(it, "required"));
    let needed = needed.collect::<Vec<_>>();
    needed.into_iter().chain(list("requires").into_iter().map(|it| of(it, "excluded"))).collect()
}

fn text<'a>(value: &'a Value, name: &str) -> Result<&'a str> {
    value[name].as_str().with_context(|| format!("there is no {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(licence: Option<&str>) -> Value {
        let package = |name: &str, version: &str, licence: Option<&str>| {
            let licence = json!(licence);
            json!({ "id": name, "name": name, "version": version, "license": licence })
        };
        let need = |name: &str, kind: Option<&str>| {
            let kinds = json!([{ "kind": kind }]);
            json!({ "pkg": name, "dep_kinds": kinds })
        };
        json!({
            "packages": [
                package(SHIPPED_PACKAGE, "0.1.0", Some("Apache-2.0")),
                package("left", "1.2.3", licence),
                package("checker", "2.0.0", Some("MIT/Apache-2.0")),
            ],
            "resolve": { "nodes": [
                { "id": SHIPPED_PACKAGE, "deps": [need("left", None), need("checker", Some("dev"))] },
                { "id": "left", "deps": [] },
                { "id": "checker", "deps": [need("left", None)] },
            ] },
        })
    }

    fn sbom_of(licence: Option<&str>) -> Result<Value> {
        let lock = "[[package]]\nname = \"left\"\nversion = \"1.2.3\"\nchecksum = \"abcd\"\n";
        let npm = json!({ "packages": {
            "": {},
            "node_modules/@types/node": { "version": "20.1.0", "license": "MIT", "dev": true },
        } });
        let console = json!({ "packages": {
            "": { "dependencies": { "vite": "8", "svelte": "5" } },
            "node_modules/vite": { "version": "8.0.0", "license": "MIT" },
            "node_modules/svelte": { "version": "5.0.0", "license": "MIT", "dependencies": { "clsx": "2" } },
            "node_modules/clsx": { "version": "2.0.0", "license": "MIT" },
            "node_modules/@types/node": { "version": "20.1.0", "license": "MIT", "dev": true },
        } });
        let python =
            "[build-system]\nrequires = [\"setuptools>=68\"]\n[project]\ndependencies = []\n";
        let (metadata, checksums) = (metadata(licence), checksums(lock));
        let (metadata, npm, console) = (&metadata, &npm, &console);
        document(&SbomSources { metadata, checksums, npm, console, python })
    }

    #[test]
    fn what_is_shipped_is_told_from_what_tests_need() {
        let document = sbom_of(Some("MIT")).expect("a document");
        let components = document["components"].as_array().expect("components");
        let scopes: BTreeMap<&str, &str> = components
            .iter()
            .filter_map(|it| Some((it["purl"].as_str()?, it["scope"].as_str()?)))
            .collect();
        let expected = [
            ("pkg:cargo/checker@2.0.0", "excluded"),
            ("pkg:cargo/left@1.2.3", "required"),
            ("pkg:cargo/meantime-cli@0.1.0", "required"),
            ("pkg:npm/%40types/node@20.1.0", "excluded"),
            ("pkg:npm/clsx@2.0.0", "required"),
            ("pkg:npm/svelte@5.0.0", "required"),
            ("pkg:npm/vite@8.0.0", "excluded"),
            ("pkg:pypi/setuptools", "excluded"),
        ];
        assert_eq!(scopes, BTreeMap::from(expected));
        let left = components.iter().find(|it| it["name"] == "left").expect("it is there");
        assert_eq!(left["hashes"][0]["content"], "abcd");
        let checker = components.iter().find(|it| it["name"] == "checker").expect("it is there");
        assert_eq!(checker["licenses"][0]["expression"], "MIT OR Apache-2.0");
    }

    #[test]
    fn a_package_without_a_licence_is_refused() {
        let refused = sbom_of(None).expect_err("it may not be shipped");
        assert!(refused.to_string().contains("left 1.2.3 names no licence"), "{refused}");
    }

    #[test]
    fn the_same_sources_give_the_same_bytes() {
        let text = || format!("{:#}", sbom_of(Some("MIT")).expect("a document"));
        assert_eq!(text(), text());
    }
}
