//! `GET /journeys`: filters and pages.

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use meantime_core::{InstanceId, Json};
use meantime_journey::JOURNEY_NOTATION;
use meantime_journey::surface;
use meantime_kernel::store::{InstanceFilter, InstanceRow, Page, Phase};
use serde::Serialize;

use super::journey::json;
use crate::app::App;
use crate::journey::SurfaceInstance;
use crate::pagination;
use crate::problem::{Problem, ProblemCode};

/// Attributes that can be filtered by a query parameter of the same name.
const ATTRIBUTE_PARAMETERS: [&str; 5] =
    ["subjectId", "tenantId", "orderId", "paymentIntentId", "crmCaseId"];

/// Rows read from the store at a time.
const SCAN_PAGE_ROWS: usize = 500;

/// Maximum number of instances that one request scans for filters that the store has no index for.
const MAX_SCANNED_ROWS: usize = 10_000;

/// The filters of the query.
#[derive(Debug, Default)]
struct JourneyFilter {
    journey: Option<String>,
    phases: Vec<Phase>,
    /// Tags, and attributes as the store keeps them: `name=value`.
    labels: Vec<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct JourneyPage {
    items: Vec<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Lists journeys, newest first, without compensations.
#[utoipa::path(
    get, path = "/journeys", operation_id = "listJourneys", tag = "journeys",
    params(
        ("journeyName" = Option<String>, Query, description = "Only of this journey, in any version"),
        ("phase" = Option<String>, Query, description = "RUNNING, SUCCEEDED or FAILED"),
        ("tag" = Option<Vec<String>>, Query, description = "Only with all of these tags"),
        ("subjectId" = Option<String>, Query, description = "Only with this attribute"),
        ("tenantId" = Option<String>, Query, description = "Only with this attribute"),
        ("orderId" = Option<String>, Query, description = "Only with this attribute"),
        ("paymentIntentId" = Option<String>, Query, description = "Only with this attribute"),
        ("crmCaseId" = Option<String>, Query, description = "Only with this attribute"),
        ("limit" = Option<usize>, Query, description = "Maximum number of entries: 50 by default, 1,000 at most"),
        ("cursor" = Option<String>, Query, description = "The `nextCursor` of the previous page"),
    ),
    responses((status = 200, description = "A page of JourneyStatus", body = serde_json::Value))
)]
pub(super) async fn list(
    State(app): State<App>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let filter_query = parse_filter(query.as_deref())?;
    let limit = pagination::limit(filter_query.limit)?;
    let mut after: Option<InstanceId> = pagination::parse_cursor(filter_query.cursor.as_deref())?;
    let definitions = app
        .definitions()
        .find_ids(filter_query.journey.clone(), None, Some(JOURNEY_NOTATION))
        .await?;
    let filter = InstanceFilter {
        definitions,
        phases: filter_query.phases.clone(),
        tags: filter_query.labels.iter().take(1).cloned().collect(),
        ..InstanceFilter::default()
    };
    let mut items = Vec::new();
    let mut scanned = 0;
    let mut has_more = !filter.definitions.is_empty();
    while has_more && items.len() < limit && scanned < MAX_SCANNED_ROWS {
        let portion = Page { after, limit: SCAN_PAGE_ROWS };
        let rows: Vec<InstanceRow> = app.store().instances(filter.clone(), portion).await?;
        has_more = rows.len() == SCAN_PAGE_ROWS;
        scanned += rows.len();
        for row in rows {
            if items.len() == limit {
                has_more = true;
                break;
            }
            after = Some(row.id);
            items.extend(status_if_matching(&app, row, &filter_query).await?);
        }
    }
    let next_cursor = after.filter(|_| has_more).map(|id| id.to_string());
    let listed = Json::of(&JourneyPage { items, next_cursor });
    let body = listed.map_err(|error| Problem::new(ProblemCode::Internal, error.to_string()))?;
    Ok(json(StatusCode::OK, &body))
}

/// The status of an instance, if it matches the filters.
async fn status_if_matching(
    app: &App,
    row: InstanceRow,
    filter_query: &JourneyFilter,
) -> Result<Option<Json>, Problem> {
    let instance_view = SurfaceInstance::new(app, row).await?;
    let Some((definition, instance)) = instance_view.definition_and_instance() else {
        return Ok(None);
    };
    let labels = surface::labels(&instance);
    let is_asked = filter_query.labels.iter().all(|label| labels.contains(label));
    let is_shown = is_asked && !surface::is_compensation(&instance);
    // Guarded journeys are never listed.
    let is_open = surface::guard_start(definition, &instance).is_none();
    Ok((is_shown && is_open).then(|| surface::status(definition, &instance)))
}

fn parse_filter(query: Option<&str>) -> Result<JourneyFilter, Problem> {
    let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(
        &format!("/?{}", query.unwrap_or_default()).parse().unwrap_or_default(),
    );
    let refused = |text: String| Problem::new(ProblemCode::InvalidQuery, text);
    let pairs = pairs.map_err(|error| refused(error.body_text()))?.0;
    let mut filter_query = JourneyFilter::default();
    for (name, value) in pairs {
        match name.as_str() {
            "journeyName" => filter_query.journey = Some(value),
            "phase" => filter_query.phases = phases(&value).map_err(refused)?,
            "tag" => filter_query.labels.push(value),
            "limit" => {
                let limit = value.parse().map_err(|_| refused(format!("limit: {value:?}")))?;
                filter_query.limit = Some(limit);
            }
            "cursor" => filter_query.cursor = Some(value),
            name if ATTRIBUTE_PARAMETERS.contains(&name) => {
                filter_query.labels.push(format!("{name}={value}"));
            }
            other => return Err(refused(format!("unknown parameter {other:?}"))),
        }
    }
    Ok(filter_query)
}

fn phases(text: &str) -> Result<Vec<Phase>, String> {
    match text {
        "RUNNING" => Ok(vec![Phase::Starting, Phase::Running, Phase::Yielding, Phase::Closing]),
        "SUCCEEDED" => Ok(vec![Phase::Completed]),
        "FAILED" => Ok(vec![Phase::Failed, Phase::Cancelled]),
        other => Err(format!("phase is RUNNING, SUCCEEDED or FAILED, not {other:?}")),
    }
}
