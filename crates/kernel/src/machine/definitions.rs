//! Deployed definitions in memory: compiled once, identified by their number.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use meantime_core::{Compiled, Definition, DefinitionId, InstanceId, Limits, Notation, Source};
use sha2::{Digest, Sha256};

use crate::store::DefinitionRow;

/// The notations this process can run, by name.
#[derive(Clone, Default)]
pub struct Notations {
    by_name: BTreeMap<String, Arc<dyn Notation>>,
}

impl Notations {
    /// Adds a notation under a name.
    #[must_use]
    pub fn with(mut self, name: &str, notation: Arc<dyn Notation>) -> Self {
        self.by_name.insert(name.to_owned(), notation);
        self
    }

    /// The notation with this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Notation>> {
        self.by_name.get(name)
    }

    /// Compiles a source in a notation.
    pub fn compile(&self, notation: &str, source: &Source, limits: &Limits) -> Option<Compiled> {
        Some(self.get(notation)?.compile(source, limits))
    }

    /// Compiles a stored definition. Diagnostics are ignored: they are for deployments, and a
    /// definition that was deployed must stay loadable.
    pub fn load(&self, row: &DefinitionRow, limits: &Limits) -> Option<Stored> {
        let (name, text, files) = (row.source_name.clone(), row.source.clone(), row.files.clone());
        let compiled = self.compile(&row.notation, &Source { name, text, files }, limits)?;
        let mut definitions = compiled.definitions.into_iter();
        let definition = definitions.find(|definition| definition.name == row.name)?;
        Some(Stored { notation: row.notation.clone(), version: row.version, definition })
    }
}

/// A stored definition, compiled again.
#[derive(Debug)]
pub struct Stored {
    /// The name of its notation.
    pub notation: String,
    /// Its version.
    pub version: u32,
    /// The compiled definition.
    pub definition: Definition,
}

/// SHA-256 of the source bytes with the files it refers to, in hex.
pub fn definition_hash(source: &Source) -> String {
    let mut hasher = Sha256::new();
    hasher.update(source.text.as_bytes());
    if source.is_typescript() {
        // The same text may mean something else in JavaScript: `f<a>(b)` compares there.
        hasher.update(b"\0typescript");
    }
    for file in &source.files {
        // The lengths make the encoding unambiguous: different sets of files never give the same
        // bytes.
        hasher.update((file.name.len() as u64).to_be_bytes());
        hasher.update(file.name.as_bytes());
        hasher.update((file.text.len() as u64).to_be_bytes());
        hasher.update(file.text.as_bytes());
    }
    hasher.finalize().iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The definitions that the machine knows.
pub(super) struct Definitions {
    notations: Notations,
    loaded: BTreeMap<DefinitionId, Loaded>,
    versions: BTreeMap<String, Vec<Version>>,
    /// Names that start no instances.
    paused: BTreeSet<String>,
    loading: BTreeSet<DefinitionId>,
    /// Instances whose turn waits until their definition is loaded.
    waiting: BTreeMap<DefinitionId, Vec<InstanceId>>,
}

/// A loaded definition.
#[derive(Clone)]
pub(super) enum Loaded {
    Ready {
        notation: Arc<dyn Notation>,
        definition: Arc<Definition>,
        version: u32,
    },
    /// It is stored, but this release cannot load it.
    Broken,
}

struct Version {
    id: DefinitionId,
    version: u32,
    retired: bool,
}

impl Definitions {
    pub(super) fn new(notations: Notations) -> Self {
        Self {
            notations,
            loaded: BTreeMap::new(),
            versions: BTreeMap::new(),
            paused: BTreeSet::new(),
            loading: BTreeSet::new(),
            waiting: BTreeMap::new(),
        }
    }

    /// The latest version of a name, or the requested one.
    pub(super) fn resolve(&self, name: &str, version: Option<u32>) -> Option<DefinitionId> {
        let wanted =
            |it: &&Version| !it.retired && version.is_none_or(|version| it.version == version);
        self.versions.get(name)?.iter().rev().find(wanted).map(|it| it.id)
    }

    /// The latest versions of up to `limit` names.
    pub(super) fn latest(&self, limit: usize) -> Vec<DefinitionId> {
        let names = self.versions.keys().take(limit);
        names.filter_map(|name| self.resolve(name, None)).collect()
    }

    /// Adds a version.
    pub(super) fn add_version(&mut self, name: &str, id: DefinitionId, version: u32, gone: bool) {
        let versions = self.versions.entry(name.to_owned()).or_default();
        if !versions.iter().any(|known| known.id == id) {
            versions.push(Version { id, version, retired: gone });
            versions.sort_by_key(|it| it.version);
        }
    }

    /// Marks a version as undeployed: it starts no new instances.
    pub(super) fn retire(&mut self, name: &str, version: u32) {
        let versions = self.versions.get_mut(name).into_iter().flatten();
        for known in versions.filter(|known| known.version == version) {
            known.retired = true;
        }
    }

    /// A name is paused, or resumed.
    pub(super) fn set_paused(&mut self, name: &str, is_paused: bool) {
        if is_paused {
            self.paused.insert(name.to_owned());
        } else {
            self.paused.remove(name);
        }
    }

    /// Whether a name starts no instances.
    pub(super) fn is_paused(&self, name: &str) -> bool {
        self.paused.contains(name)
    }

    pub(super) fn get(&self, id: DefinitionId) -> Option<&Loaded> {
        self.loaded.get(&id)
    }

    /// The name of a definition that is loaded.
    pub(super) fn name(&self, id: DefinitionId) -> Option<&str> {
        match self.get(id)? {
            Loaded::Ready { definition, .. } => Some(&definition.name),
            Loaded::Broken => None,
        }
    }

    /// A definition was read from the store, if it can be loaded and its notation is known.
    pub(super) fn put(&mut self, id: DefinitionId, stored: Option<Stored>) {
        let ready = stored.and_then(|Stored { notation, version, definition }| {
            let notation = self.notations.get(&notation)?.clone();
            Some(Loaded::Ready { notation, definition: Arc::new(definition), version })
        });
        self.loading.remove(&id);
        self.loaded.insert(id, ready.unwrap_or(Loaded::Broken));
    }

    /// A definition was deployed; it is compiled already.
    pub(super) fn put_deployed(
        &mut self,
        id: DefinitionId,
        version: u32,
        notation: &str,
        definition: &Arc<Definition>,
    ) {
        self.add_version(&definition.name, id, version, false);
        if let Some(notation) = self.notations.get(notation).cloned() {
            let definition = definition.clone();
            self.loading.remove(&id);
            self.loaded.insert(id, Loaded::Ready { notation, definition, version });
        }
    }

    /// The instances that waited for a definition.
    pub(super) fn take_waiting(&mut self, id: DefinitionId) -> Vec<InstanceId> {
        self.waiting.remove(&id).unwrap_or_default()
    }

    /// An instance waits until its definition is loaded.
    pub(super) fn wait(&mut self, id: DefinitionId, instance: InstanceId) {
        self.waiting.entry(id).or_default().push(instance);
    }

    /// Whether instances wait for a definition.
    pub(super) fn are_awaited(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether a load must be requested: the definition is neither loaded nor being loaded.
    pub(super) fn wants(&mut self, id: DefinitionId) -> bool {
        !self.loaded.contains_key(&id) && self.loading.insert(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_version_that_is_not_retired_is_started() {
        let mut definitions = Definitions::new(Notations::default());
        definitions.add_version("pay", DefinitionId(7), 2, false);
        definitions.add_version("pay", DefinitionId(3), 1, false);
        assert_eq!(definitions.resolve("pay", None), Some(DefinitionId(7)));
        assert_eq!(definitions.resolve("pay", Some(1)), Some(DefinitionId(3)));
        definitions.retire("pay", 2);
        assert_eq!(definitions.resolve("pay", None), Some(DefinitionId(3)));
        assert_eq!(definitions.resolve("pay", Some(2)), None);
    }

    #[test]
    fn a_definition_is_asked_for_once_and_tells_who_waited_for_it() {
        let (one, instance) = (DefinitionId(1), InstanceId::new(1, 0));
        let mut definitions = Definitions::new(Notations::default());
        assert!(definitions.wants(one));
        assert!(!definitions.wants(one), "it is being loaded");
        definitions.wait(one, instance);
        assert!(definitions.are_awaited());
        definitions.put(one, None);
        assert_eq!(definitions.take_waiting(one), [instance]);
        assert!(!definitions.are_awaited() && !definitions.wants(one));
    }
}
