//! Cache of compiled definitions by id. A deployed version never changes, so entries never expire.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use meantime_core::{Definition, DefinitionId, Notation, State, View};
use meantime_kernel::command::Error;
use meantime_kernel::driver::Kernel;
use meantime_kernel::store::DefinitionFilter;

use crate::problem::Problem;

/// The cache.
pub(crate) struct DefinitionCache {
    kernel: Kernel,
    cached: RwLock<BTreeMap<DefinitionId, Arc<CachedDefinition>>>,
}

/// A deployed version with its compiled form.
pub(crate) struct CachedDefinition {
    pub(crate) name: String,
    pub(crate) version: u32,
    pub(crate) notation: String,
    compiled: Option<(Arc<dyn Notation>, Arc<Definition>)>,
}

impl CachedDefinition {
    /// The view of a state; empty if this release cannot read the definition.
    pub(crate) fn inspect(&self, state: &State) -> View {
        let view = |(notation, definition): &(Arc<dyn Notation>, Arc<Definition>)| {
            notation.inspect(definition, state)
        };
        self.compiled.as_ref().map(view).unwrap_or_default()
    }

    /// The notation and the compiled definition; none if this release cannot read it.
    pub(crate) fn compiled(&self) -> Option<(&dyn Notation, &Definition)> {
        self.compiled.as_ref().map(|(notation, definition)| (&**notation, &**definition))
    }
}

impl DefinitionCache {
    pub(crate) fn new(kernel: Kernel) -> Self {
        Self { kernel, cached: RwLock::new(BTreeMap::new()) }
    }

    /// The version with this id.
    pub(crate) async fn get(&self, id: DefinitionId) -> Result<Arc<CachedDefinition>, Error> {
        let cached = self.cached.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
        if let Some(entry) = cached {
            return Ok(entry);
        }
        let row = self.kernel.store().definition(id).await.map_err(|error| Error::from(&error))?;
        let compiled = self.kernel.definition(id).await?;
        let entry = Arc::new(match row {
            Some(row) => CachedDefinition {
                name: row.name,
                version: row.version,
                notation: row.notation,
                compiled,
            },
            // A definition is kept while instances run it, so only a damaged store lacks it.
            None => CachedDefinition {
                name: String::new(),
                version: 0,
                notation: String::new(),
                compiled,
            },
        });
        let mut cached = self.cached.write().unwrap_or_else(PoisonError::into_inner);
        cached.insert(id, entry.clone());
        Ok(entry)
    }

    /// The ids of all versions with this name, version and notation.
    pub(crate) async fn find_ids(
        &self,
        name: Option<String>,
        version: Option<u32>,
        notation: Option<&str>,
    ) -> Result<Vec<DefinitionId>, Problem> {
        let filter = DefinitionFilter { name, version, ..DefinitionFilter::default() };
        let rows = self.kernel.store().definitions(filter).await?;
        let rows = rows.iter().filter(|row| notation.is_none_or(|it| it == row.notation));
        Ok(rows.map(|row| row.id).collect())
    }
}
