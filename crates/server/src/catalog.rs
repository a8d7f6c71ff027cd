//! Deployed versions by their number, as readers need them: what never changes is kept.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use meantime_core::{Definition, DefinitionId, Notation, State, View};
use meantime_kernel::command::Error;
use meantime_kernel::driver::Kernel;
use meantime_kernel::store::DefinitionFilter;

use crate::problem::Problem;

/// Versions that were looked at.
pub(crate) struct Catalog {
    kernel: Kernel,
    known: RwLock<BTreeMap<DefinitionId, Arc<Entry>>>,
}

/// A version.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) version: u32,
    pub(crate) notation: String,
    runs: Option<(Arc<dyn Notation>, Arc<Definition>)>,
}

impl Entry {
    /// What people may see of a state; nothing when this release cannot read the definition.
    pub(crate) fn inspect(&self, state: &State) -> View {
        let view = |(notation, definition): &(Arc<dyn Notation>, Arc<Definition>)| {
            notation.inspect(definition, state)
        };
        self.runs.as_ref().map(view).unwrap_or_default()
    }

    /// Its notation and its compiled form.
    pub(crate) fn runs(&self) -> Option<(&dyn Notation, &Definition)> {
        self.runs.as_ref().map(|(notation, definition)| (&**notation, &**definition))
    }
}

impl Catalog {
    pub(crate) fn new(kernel: Kernel) -> Self {
        Self { kernel, known: RwLock::new(BTreeMap::new()) }
    }

    /// A version by its number.
    pub(crate) async fn get(&self, id: DefinitionId) -> Result<Arc<Entry>, Error> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
        if let Some(entry) = known {
            return Ok(entry);
        }
        let row = self.kernel.store().definition(id).await.map_err(|error| Error::from(&error))?;
        let runs = self.kernel.definition(id).await?;
        let entry = Arc::new(match row {
            Some(row) => {
                Entry { name: row.name, version: row.version, notation: row.notation, runs }
            }
            // Instances outlive nothing they run; this is for damaged stores.
            None => Entry { name: String::new(), version: 0, notation: String::new(), runs },
        });
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(id, entry.clone());
        Ok(entry)
    }

    /// The numbers of versions by name, notation or both.
    pub(crate) async fn ids(
        &self,
        name: Option<String>,
        notation: Option<&str>,
    ) -> Result<Vec<DefinitionId>, Problem> {
        let filter = DefinitionFilter { name, ..DefinitionFilter::default() };
        let rows = self.kernel.store().definitions(filter).await?;
        let rows = rows.iter().filter(|row| notation.is_none_or(|it| it == row.notation));
        Ok(rows.map(|row| row.id).collect())
    }
}
