//! APIs by the path that they answer at.
//!
//! A path that is known is checked against the latest version of its API; one that is not is looked
//! for among all of them, so that what was deployed elsewhere is found.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use meantime_journey::JOURNEY_NOTATION;
use meantime_journey::surface::{self, Kind};
use meantime_kernel::store::DefinitionFilter;

use super::surface::{Named, latest};
use crate::app::App;
use crate::problem::Problem;

/// Names of APIs by their paths.
#[derive(Debug, Default)]
pub(crate) struct ApiPaths(RwLock<BTreeMap<String, String>>);

impl ApiPaths {
    /// The API that answers at a path below the base.
    pub(crate) async fn find(&self, app: &App, path: &str) -> Result<Option<Named>, Problem> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
        if let Some(name) = known
            && let Some(named) = at(app, &name, path).await
        {
            return Ok(Some(named));
        }
        self.refresh(app).await?;
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
        Ok(match known {
            Some(name) => at(app, &name, path).await,
            None => None,
        })
    }

    async fn refresh(&self, app: &App) -> Result<(), Problem> {
        let filter = DefinitionFilter { latest: true, ..DefinitionFilter::default() };
        let rows = app.store().definitions(filter).await?;
        let mut paths = BTreeMap::new();
        for row in rows.iter().filter(|row| row.notation == JOURNEY_NOTATION) {
            let entry = app.catalog().get(row.id).await?;
            let path = entry.runs().and_then(|(_, definition)| surface::route(definition));
            paths.extend(path.map(|path| (path, row.name.clone())));
        }
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = paths;
        Ok(())
    }
}

/// An API, if it still answers at this path.
async fn at(app: &App, name: &str, path: &str) -> Option<Named> {
    let named = latest(app, name, Kind::Api).await.ok()?;
    let answers = named.definition().and_then(surface::route).is_some_and(|it| it == path);
    answers.then_some(named)
}
