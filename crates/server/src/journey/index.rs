//! Index of deployed journeys: APIs by path, and whether anything is public.
//!
//! An indexed path is checked against the latest version of its API. Otherwise the index is rebuilt
//! from the store, because another node may have deployed the API. Rebuilding is expensive, so
//! unauthenticated callers cause it at most once a second, and after a deployment on this node.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{PoisonError, RwLock};

use meantime_core::{Definition, Diagnostic, Timestamp};
use meantime_journey::JOURNEY_NOTATION;
use meantime_journey::surface::{self, Kind};
use meantime_kernel::command::Error;
use meantime_kernel::store::DefinitionFilter;

use super::surface::{SurfaceDefinition, latest};
use crate::app::App;
use crate::problem::Problem;

/// Maximum age of the index for unauthenticated callers, in milliseconds.
const MAX_INDEX_AGE_MS: i64 = 1_000;

/// The index.
#[derive(Debug, Default)]
pub(crate) struct SurfaceIndex(RwLock<IndexSnapshot>);

#[derive(Debug, Default)]
struct IndexSnapshot {
    /// Names of APIs by their paths.
    paths: BTreeMap<String, String>,
    /// Names of all APIs; each also answers at `/apis/<name>`.
    names: BTreeSet<String>,
    has_public: bool,
    /// When the index was built; none if it must be rebuilt.
    at: Option<Timestamp>,
}

impl SurfaceIndex {
    /// The API at a path below the base path.
    pub(crate) async fn api(
        &self,
        app: &App,
        path: &str,
    ) -> Result<Option<SurfaceDefinition>, Problem> {
        if let Some(named) = self.find_api(app, path).await {
            return Ok(Some(named));
        }
        self.refresh(app).await?;
        Ok(self.find_api(app, path).await)
    }

    /// Like [`Self::api`], for unauthenticated callers: the index may be slightly old.
    pub(crate) async fn public_api(
        &self,
        app: &App,
        path: &str,
    ) -> Result<Option<SurfaceDefinition>, Problem> {
        if let Some(named) = self.find_api(app, path).await {
            return Ok(Some(named));
        }
        self.refresh_if_stale(app).await?;
        Ok(self.find_api(app, path).await)
    }

    /// Whether anything is public.
    pub(crate) async fn has_public(&self, app: &App) -> Result<bool, Problem> {
        self.refresh_if_stale(app).await?;
        Ok(self.0.read().unwrap_or_else(PoisonError::into_inner).has_public)
    }

    /// Diagnostics for definitions to be deployed whose path another API has, deployed or in the
    /// same deployment.
    pub(crate) async fn route_conflicts(
        &self,
        app: &App,
        definitions: &[Definition],
    ) -> Result<Vec<Diagnostic>, Error> {
        let routes: Vec<(&Definition, String)> = definitions
            .iter()
            .filter_map(|definition| Some((definition, surface::route(definition)?)))
            .collect();
        if routes.is_empty() {
            return Ok(Vec::new());
        }
        self.refresh(app).await?;
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let is_new = |name: &str| routes.iter().any(|(definition, _)| definition.name == name);
        let mut taken: BTreeMap<String, &str> = BTreeMap::new();
        for (path, name) in known.paths.iter().filter(|(_, name)| !is_new(name)) {
            taken.insert(path.clone(), name);
        }
        for name in known.names.iter().filter(|name| !is_new(name)) {
            taken.insert(format!("/apis/{name}"), name);
        }
        let mut found = Vec::new();
        for (definition, route) in &routes {
            let own = format!("/apis/{}", definition.name);
            for path in [route, &own] {
                let other = taken.insert(path.clone(), &definition.name);
                if let Some(other) = other.filter(|other| *other != definition.name) {
                    let message = format!("the API `{other}` answers at `{path}` already");
                    let at = surface::route_position(definition);
                    let problem = Diagnostic::error(surface::ROUTE_CODE, message, at);
                    found.push(problem.with_help("give one of them another `route.path` or name"));
                }
            }
        }
        Ok(found)
    }

    /// Marks the index as outdated after a deployment or undeployment.
    pub(crate) fn invalidate(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).at = None;
    }

    /// The API at an indexed path, if its latest version still has this path.
    async fn find_api(&self, app: &App, path: &str) -> Option<SurfaceDefinition> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).paths.get(path).cloned();
        let named = latest(app, &known?, Kind::Api).await.ok()?;
        let answers = named.definition().and_then(surface::route).is_some_and(|it| it == path);
        answers.then_some(named)
    }

    async fn refresh_if_stale(&self, app: &App) -> Result<(), Error> {
        let now = app.kernel().now().real;
        let read_at = self.0.read().unwrap_or_else(PoisonError::into_inner).at;
        let is_fresh = |at: Timestamp| (0..MAX_INDEX_AGE_MS).contains(&now.saturating_since(at));
        if read_at.is_some_and(is_fresh) { Ok(()) } else { self.refresh(app).await }
    }

    async fn refresh(&self, app: &App) -> Result<(), Error> {
        let at = Some(app.kernel().now().real);
        let filter = DefinitionFilter { latest: true, ..DefinitionFilter::default() };
        let rows = app.store().definitions(filter).await.map_err(|error| Error::from(&error))?;
        let (mut paths, mut names) = (BTreeMap::new(), BTreeSet::new());
        let mut has_public = false;
        for row in rows.iter().filter(|row| row.notation == JOURNEY_NOTATION) {
            let entry = app.definitions().get(row.id).await?;
            let Some((_, definition)) = entry.compiled() else { continue };
            if let Some(path) = surface::route(definition) {
                paths.insert(path, row.name.clone());
                names.insert(row.name.clone());
            }
            let declared = surface::declares_public(definition);
            has_public |= app.settings().journeys.public.is_public(&row.name, declared);
        }
        *self.0.write().unwrap_or_else(PoisonError::into_inner) =
            IndexSnapshot { paths, names, has_public, at };
        Ok(())
    }
}
