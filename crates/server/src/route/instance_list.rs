//! `GET /instances`: filters, orders and pages.

use axum::extract::State;
use meantime_core::{InstanceId, Timestamp};
use meantime_kernel::store::{InstanceFilter, InstancePosition, InstanceRow, Phase};
use serde::Deserialize;
use utoipa::IntoParams;

use super::instance_search::{self as search, Order, SearchBudget};
use super::reply::{Result, ok};
use crate::app::App;
use crate::auth::Caller;
use crate::definition_cache::CachedDefinition;
use crate::extract::MultiQuery;
use crate::problem::{Problem, ProblemCode};
use crate::wire::{
    Direction, InstanceOrder, InstancePage, InstanceStatus, InstanceTotal, WaitingKind,
};
use crate::{audit, pagination, show};

/// The largest number of instances that a request counts one by one.
const MAX_COUNTED: usize = 10_000;

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Only instances of this definition, in any version.
    #[serde(default)]
    definition: Option<String>,
    /// Only of this version of the definition.
    #[serde(default)]
    version: Option<u32>,
    /// Only of this notation.
    #[serde(default)]
    notation: Option<String>,
    /// Only in this status; repeat it for several.
    #[serde(default)]
    #[param(inline, required = false)]
    status: Vec<InstanceStatus>,
    /// Only with this business key.
    #[serde(default)]
    key: Option<String>,
    /// Only with a business key that begins like this.
    #[serde(default)]
    key_prefix: Option<String>,
    /// Only with this tag; repeat it for instances that have all of several tags.
    #[serde(default)]
    #[param(required = false)]
    tag: Vec<String>,
    /// Only children that this instance has started.
    #[serde(default)]
    parent: Option<String>,
    /// Only this instance and everything below it.
    #[serde(default)]
    root: Option<String>,
    /// Only started at or after this instant.
    #[serde(default)]
    #[param(value_type = Option<String>, format = DateTime)]
    started_after: Option<Timestamp>,
    /// Only started before this instant.
    #[serde(default)]
    #[param(value_type = Option<String>, format = DateTime)]
    started_before: Option<Timestamp>,
    /// Only ended at or after this instant.
    #[serde(default)]
    #[param(value_type = Option<String>, format = DateTime)]
    ended_after: Option<Timestamp>,
    /// Only ended before this instant.
    #[serde(default)]
    #[param(value_type = Option<String>, format = DateTime)]
    ended_before: Option<Timestamp>,
    /// Only instances with a wait of this kind.
    #[serde(default)]
    #[param(inline)]
    waiting_for: Option<WaitingKind>,
    /// Only instances that wait at this element; with `waitingFor`, for that.
    #[serde(default)]
    element: Option<String>,
    /// Only with (true) or without (false) an open incident.
    #[serde(default)]
    has_incident: Option<bool>,
    /// Only with an open incident of this code.
    #[serde(default)]
    incident_code: Option<String>,
    /// Only failed with this code.
    #[serde(default)]
    error_code: Option<String>,
    /// The order. By default `end` if a filter on the end is given, `key` with `keyPrefix`, and
    /// `start` otherwise.
    #[serde(default)]
    #[param(inline)]
    sort: Option<InstanceOrder>,
    /// The direction. By default `desc` for `start` and `end`, `asc` for `key` and `due`.
    #[serde(default)]
    #[param(inline)]
    order: Option<Direction>,
    /// Also count the instances that match.
    #[serde(default)]
    count: bool,
    /// Maximum number of entries: 50 by default, 1,000 at most.
    #[serde(default)]
    limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    #[serde(default)]
    cursor: Option<String>,
}

/// Lists instances, newest first.
#[utoipa::path(
    get, path = "/instances", operation_id = "listInstances", tag = "instances", params(ListQuery),
    responses((status = 200, description = "Instances", body = InstancePage))
)]
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    MultiQuery(query): MultiQuery<ListQuery>,
) -> Result<InstancePage> {
    let limit = pagination::limit(query.limit)?;
    let order = query.order();
    let after = search::read_cursor(query.cursor.as_deref(), order)?;
    let Some(filter) = query.store_filter(&app, order).await? else {
        let count = query.count.then_some(InstanceTotal { value: 0, at_least: false });
        return ok(InstancePage { count, ..InstancePage::default() });
    };
    let mut budget = SearchBudget::new(&app);
    let mut page = InstancePage::default();
    let mut shown: Vec<(InstancePosition, InstanceRow)> = Vec::new();
    // One more than is shown, to know whether another page follows.
    let mut walk = search::Walk::new(&app, filter.clone(), order, after);
    while shown.len() <= limit {
        let Some(found) = walk.next_part(limit + 1 - shown.len(), &mut budget).await? else {
            break;
        };
        for (position, row) in found {
            if query.matches_waits(&app, &row).await? {
                shown.push((position, row));
            }
        }
    }
    if shown.len() > limit {
        shown.truncate(limit);
        page.next_cursor = shown.last().map(|(position, _)| search::cursor(position));
    } else if let Some(next) = walk.rest() {
        page.next_cursor = Some(search::cursor(next));
        page.incomplete = shown.len() < limit;
    }
    for (_, row) in &shown {
        page.items.push(show::summary(&app, row).await?);
    }
    if query.count {
        page.count = Some(count(&app, &query, filter, order, &mut budget).await?);
    }
    let shown = shown.iter().map(|(_, row)| (row.id, row.definition)).collect();
    audit::log_guarded_read(&app, &caller, "listInstances", shown).await;
    ok(page)
}

/// Counts what matches: from the maintained numbers if they know it, otherwise one by one.
async fn count(
    app: &App,
    query: &ListQuery,
    filter: InstanceFilter,
    order: Order,
    budget: &mut SearchBudget,
) -> std::result::Result<InstanceTotal, Problem> {
    if query.is_counted(order) {
        let counts = app.store().count_instances().await?.into_iter();
        let is_wanted = |definition, status: Phase| {
            (filter.definitions.is_empty() || filter.definitions.contains(&definition))
                && !filter.except.contains(&definition)
                && (filter.phases.is_empty() || filter.phases.contains(&status))
        };
        let wanted = counts.filter(|it| is_wanted(it.definition, it.status));
        return Ok(InstanceTotal { value: wanted.map(|it| it.count).sum(), at_least: false });
    }
    budget.restart_rows();
    let mut walk = search::Walk::new(app, filter, order, None);
    let mut count = 0;
    while count <= MAX_COUNTED {
        let Some(found) = walk.next_part(MAX_COUNTED + 1, budget).await? else { break };
        for (_, row) in found {
            count += usize::from(query.matches_waits(app, &row).await?);
        }
    }
    let at_least = count > MAX_COUNTED || walk.rest().is_some();
    let value = u64::try_from(count.min(MAX_COUNTED)).unwrap_or_default();
    Ok(InstanceTotal { value, at_least })
}

impl ListQuery {
    fn order(&self) -> Order {
        let sort = self.sort.unwrap_or(match self {
            Self { ended_after: Some(_), .. } | Self { ended_before: Some(_), .. } => {
                InstanceOrder::End
            }
            Self { key_prefix: Some(_), .. } => InstanceOrder::Key,
            _ => InstanceOrder::Start,
        });
        let is_latest_first = matches!(sort, InstanceOrder::Start | InstanceOrder::End);
        let default = if is_latest_first { Direction::Desc } else { Direction::Asc };
        Order { sort, direction: self.order.unwrap_or(default) }
    }

    /// The filter for the store; none if nothing can match.
    async fn store_filter(
        &self,
        app: &App,
        order: Order,
    ) -> std::result::Result<Option<InstanceFilter>, Problem> {
        let of = search::DefinitionQuery {
            name: self.definition.as_deref(),
            version: self.version,
            notation: self.notation.as_deref(),
        };
        let Some(filter) = of.filter(app).await? else { return Ok(None) };
        let mut phases: Vec<Phase> =
            self.status.iter().flat_map(|status| status.phases().iter().copied()).collect();
        if phases.is_empty() {
            phases.extend(Phase::ALL.map(|(phase, _)| phase));
        }
        // What has ended waits for nothing, and what runs has no end.
        let is_running = self.waiting_for.is_some()
            || self.element.is_some()
            || order.sort == InstanceOrder::Due;
        let has_ended = self.ended_after.is_some()
            || self.ended_before.is_some()
            || order.sort == InstanceOrder::End;
        phases.retain(|phase| {
            let is_ended = phase.is_ended();
            !(is_running && is_ended || has_ended && !is_ended)
        });
        if phases.is_empty() {
            return Ok(None);
        }
        phases.sort_unstable();
        phases.dedup();
        if phases.len() == Phase::ALL.len() {
            phases.clear();
        }
        Ok(Some(
            InstanceFilter {
                phases,
                incident: self.has_incident,
                incident_code: self.incident_code.clone(),
                error_code: self.error_code.clone(),
                key: self.key.clone(),
                key_prefix: self.key_prefix.clone(),
                tags: self.tag.clone(),
                parent: instance_id("parent", self.parent.as_deref())?,
                root: instance_id("root", self.root.as_deref())?,
                started_from: self.started_after,
                started_before: self.started_before,
                ended_from: self.ended_after,
                ended_before: self.ended_before,
                ..filter
            }
            .bound_ids(),
        ))
    }

    /// Whether the maintained numbers answer how many instances match.
    fn is_counted(&self, order: Order) -> bool {
        let texts = [&self.key, &self.key_prefix, &self.parent, &self.root, &self.element];
        let codes = [&self.incident_code, &self.error_code];
        let times = [self.started_after, self.started_before, self.ended_after, self.ended_before];
        order.sort == InstanceOrder::Start
            && texts.into_iter().chain(codes).all(Option::is_none)
            && times.iter().all(Option::is_none)
            && self.tag.is_empty()
            && self.waiting_for.is_none()
            && self.has_incident.is_none()
    }

    /// Whether an instance waits as the query says. Only its notation knows that.
    async fn matches_waits(
        &self,
        app: &App,
        row: &InstanceRow,
    ) -> std::result::Result<bool, Problem> {
        if self.waiting_for.is_none() && self.element.is_none() {
            return Ok(true);
        }
        let definition = app.definitions().get(row.definition).await?;
        Ok(self.matches_view(&definition, row))
    }

    fn matches_view(&self, definition: &CachedDefinition, row: &InstanceRow) -> bool {
        show::view(definition, row).waiting.iter().any(|wait| {
            self.waiting_for.is_none_or(|kind| WaitingKind::from(wait.kind) == kind)
                && self.element.as_ref().is_none_or(|element| *element == wait.element)
        })
    }
}

fn instance_id(name: &str, text: Option<&str>) -> std::result::Result<Option<InstanceId>, Problem> {
    let refused = |text: &str| {
        let detail = format!("`{name}`: {text:?} is not the id of an instance");
        Problem::new(ProblemCode::InvalidQuery, detail)
    };
    text.map(|text| text.parse().map_err(|_| refused(text))).transpose()
}
