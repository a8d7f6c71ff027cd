//! `GET /instances/stats`: how many instances there are, in groups.

use std::collections::BTreeMap;

use axum::extract::State;
use meantime_kernel::store::{InstanceFilter, Phase};
use serde::Deserialize;
use utoipa::IntoParams;

use super::instance_search::{DefinitionQuery, MAX_EXAMINED, Order, SearchBudget, Walk};
use super::reply::{Result, ok};
use crate::app::App;
use crate::extract::Query;
use crate::problem::Problem;
use crate::show;
use crate::wire::{
    Direction, InstanceGroup, InstanceGrouping, InstanceOrder, InstanceStats, InstanceStatus,
    StatusCounts,
};

/// The largest number of incidents whose codes are counted.
const MAX_INCIDENTS: usize = 10_000;

/// The largest number of groups of elements.
const MAX_GROUPS: usize = 1_000;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct StatsQuery {
    /// By what to group.
    #[param(inline)]
    group_by: InstanceGrouping,
    /// Only instances of this definition, in any version.
    #[serde(default)]
    definition: Option<String>,
    /// Only of this version of the definition.
    #[serde(default)]
    version: Option<u32>,
    /// Only of this notation.
    #[serde(default)]
    notation: Option<String>,
}

/// Groups that are collected, by their key.
type Groups = BTreeMap<(String, u32, String), InstanceGroup>;

/// Counts instances in groups.
#[utoipa::path(
    get, path = "/instances/stats", operation_id = "getInstanceStats", tag = "instances",
    params(StatsQuery),
    responses((status = 200, description = "The groups", body = InstanceStats))
)]
pub(super) async fn stats(
    State(app): State<App>,
    Query(query): Query<StatsQuery>,
) -> Result<InstanceStats> {
    let group_by = query.group_by;
    let of = DefinitionQuery {
        name: query.definition.as_deref(),
        version: query.version,
        notation: query.notation.as_deref(),
    };
    let Some(filter) = of.filter(&app).await? else {
        return ok(InstanceStats { group_by, groups: Vec::new(), at_least: false });
    };
    let (groups, at_least) = match group_by {
        InstanceGrouping::Status | InstanceGrouping::Definition | InstanceGrouping::Version => {
            (maintained(&app, group_by, &filter).await?, false)
        }
        InstanceGrouping::Element => elements(&app, filter).await?,
        InstanceGrouping::IncidentCode => incidents(&app, &filter).await?,
    };
    ok(InstanceStats { group_by, groups, at_least })
}

/// The numbers that every commit maintains.
async fn maintained(
    app: &App,
    group_by: InstanceGrouping,
    filter: &InstanceFilter,
) -> std::result::Result<Vec<InstanceGroup>, Problem> {
    let mut groups = Groups::new();
    for count in app.store().count_instances().await? {
        let wanted =
            filter.definitions.is_empty() || filter.definitions.contains(&count.definition);
        if !wanted || filter.except.contains(&count.definition) {
            continue;
        }
        let status = InstanceStatus::from(count.status);
        let group = if group_by == InstanceGrouping::Status {
            let place = Phase::ALL.iter().position(|(phase, _)| *phase == count.status);
            let place = u32::try_from(place.unwrap_or_default()).unwrap_or_default();
            let group = groups.entry((String::new(), place, String::new())).or_default();
            group.status = Some(status);
            group
        } else {
            let definition = app.definitions().get(count.definition).await?;
            let version = (group_by == InstanceGrouping::Version).then_some(definition.version);
            let key = (definition.name.clone(), version.unwrap_or_default(), String::new());
            let group = groups.entry(key).or_default();
            group.definition = Some(definition.name.clone());
            group.version = version;
            *group.by_status.get_or_insert_with(StatusCounts::default).of(status) += count.count;
            group
        };
        group.count += count.count;
    }
    Ok(groups.into_values().collect())
}

/// Running instances by the elements where they wait, and whether there may be more.
async fn elements(
    app: &App,
    filter: InstanceFilter,
) -> std::result::Result<(Vec<InstanceGroup>, bool), Problem> {
    let phases = InstanceStatus::Running.phases().to_vec();
    let order = Order { sort: InstanceOrder::Start, direction: Direction::Desc };
    let mut walk = Walk::new(app, InstanceFilter { phases, ..filter }, order, None);
    let mut budget = SearchBudget::new(app);
    let (mut groups, mut is_full) = (Groups::new(), false);
    while let Some(found) = walk.next_part(MAX_EXAMINED, &mut budget).await? {
        for (_, row) in found {
            let definition = app.definitions().get(row.definition).await?;
            let view = show::view(&definition, &row);
            let mut elements: Vec<String> =
                view.waiting.into_iter().map(|wait| wait.element).collect();
            elements.sort_unstable();
            elements.dedup();
            for element in elements {
                let key = (definition.name.clone(), 0, element.clone());
                if groups.len() >= MAX_GROUPS && !groups.contains_key(&key) {
                    is_full = true;
                    continue;
                }
                let group = groups.entry(key).or_default();
                group.definition = Some(definition.name.clone());
                group.element = Some(element);
                group.count += 1;
            }
        }
    }
    let at_least = is_full || walk.rest().is_some();
    Ok((groups.into_values().collect(), at_least))
}

/// Open incidents by their codes, and whether there may be more.
async fn incidents(
    app: &App,
    filter: &InstanceFilter,
) -> std::result::Result<(Vec<InstanceGroup>, bool), Problem> {
    let (mut groups, mut seen) = (Groups::new(), 0);
    for count in app.store().count_incidents(MAX_INCIDENTS).await? {
        seen += count.count;
        if !filter.definitions.is_empty() && !filter.definitions.contains(&count.definition) {
            continue;
        }
        let group = groups.entry((count.code.clone(), 0, String::new())).or_default();
        group.incident_code = Some(count.code);
        group.count += count.count;
    }
    let at_least = seen >= u64::try_from(MAX_INCIDENTS).unwrap_or(u64::MAX);
    Ok((groups.into_values().collect(), at_least))
}
