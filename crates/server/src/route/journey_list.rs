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
use crate::journey::Seen;
use crate::page;
use crate::problem::{Problem, Reason};

/// Attributes that have a parameter of their own.
const ATTRIBUTES: [&str; 5] = ["subjectId", "tenantId", "orderId", "paymentIntentId", "crmCaseId"];

/// Instances read at a time.
const PORTION: usize = 500;

/// Instances that one request looks at, when the store cannot tell all of what is asked for.
const LOOKED_AT: usize = 10_000;

/// What is asked for.
#[derive(Debug, Default)]
struct Asked {
    journey: Option<String>,
    phases: Vec<Phase>,
    /// Tags, and attributes as the store keeps them: `name=value`.
    labels: Vec<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    items: Vec<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Journeys, newest first. Compensations of journeys are not among them.
#[utoipa::path(
    get, path = "/journeys", operation_id = "listJourneys", tag = "journeys",
    params(
        ("journeyName" = Option<String>, Query, description = "Of this journey, in any version"),
        ("phase" = Option<String>, Query, description = "RUNNING, SUCCEEDED or FAILED"),
        ("tag" = Option<Vec<String>>, Query, description = "With all of these tags"),
        ("subjectId" = Option<String>, Query, description = "With this attribute"),
        ("tenantId" = Option<String>, Query, description = "With this attribute"),
        ("orderId" = Option<String>, Query, description = "With this attribute"),
        ("paymentIntentId" = Option<String>, Query, description = "With this attribute"),
        ("crmCaseId" = Option<String>, Query, description = "With this attribute"),
        ("limit" = Option<usize>, Query, description = "How many at most: 50 when not given, 1,000 at most"),
        ("cursor" = Option<String>, Query, description = "Where the page before ended"),
    ),
    responses((status = 200, description = "JourneyStatus, a page of them", body = serde_json::Value))
)]
pub(super) async fn list(
    State(app): State<App>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let asked = read(query.as_deref())?;
    let limit = page::limit(asked.limit)?;
    let mut after: Option<InstanceId> = page::cursor(asked.cursor.as_deref())?;
    let definitions = app.catalog().ids(asked.journey.clone(), Some(JOURNEY_NOTATION)).await?;
    let filter = InstanceFilter {
        definitions,
        phases: asked.phases.clone(),
        tag: asked.labels.first().cloned(),
        ..InstanceFilter::default()
    };
    let mut items = Vec::new();
    let mut looked_at = 0;
    let mut has_more = !filter.definitions.is_empty();
    while has_more && items.len() < limit && looked_at < LOOKED_AT {
        let portion = Page { after, limit: PORTION };
        let rows: Vec<InstanceRow> = app.store().instances(filter.clone(), portion).await?;
        has_more = rows.len() == PORTION;
        looked_at += rows.len();
        for row in rows {
            if items.len() == limit {
                has_more = true;
                break;
            }
            after = Some(row.id);
            items.extend(listed(&app, row, &asked).await?);
        }
    }
    let next_cursor = after.filter(|_| has_more).map(|id| id.to_string());
    let listed = Json::of(&Listed { items, next_cursor });
    let body = listed.map_err(|error| Problem::new(Reason::Internal, error.to_string()))?;
    Ok(json(StatusCode::OK, &body))
}

/// The status of an instance, if it is one that was asked for.
async fn listed(app: &App, row: InstanceRow, asked: &Asked) -> Result<Option<Json>, Problem> {
    let seen = Seen::new(app, row).await?;
    let Some((definition, instance)) = seen.parts() else { return Ok(None) };
    let labels = surface::labels(&instance);
    let is_asked = asked.labels.iter().all(|label| labels.contains(label));
    let is_shown = is_asked && !surface::is_compensation(&instance);
    // What only some may read is in no list.
    let is_open = surface::guard_start(definition, &instance).is_none();
    Ok((is_shown && is_open).then(|| surface::status(definition, &instance)))
}

fn read(query: Option<&str>) -> Result<Asked, Problem> {
    let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(
        &format!("/?{}", query.unwrap_or_default()).parse().unwrap_or_default(),
    );
    let refused = |text: String| Problem::new(Reason::InvalidQuery, text);
    let pairs = pairs.map_err(|error| refused(error.body_text()))?.0;
    let mut asked = Asked::default();
    for (name, value) in pairs {
        match name.as_str() {
            "journeyName" => asked.journey = Some(value),
            "phase" => asked.phases = phases(&value).map_err(refused)?,
            "tag" => asked.labels.push(value),
            "limit" => {
                let limit = value.parse().map_err(|_| refused(format!("limit: {value:?}")))?;
                asked.limit = Some(limit);
            }
            "cursor" => asked.cursor = Some(value),
            name if ATTRIBUTES.contains(&name) => asked.labels.push(format!("{name}={value}")),
            other => return Err(refused(format!("unknown parameter {other:?}"))),
        }
    }
    Ok(asked)
}

fn phases(text: &str) -> Result<Vec<Phase>, String> {
    match text {
        "RUNNING" => Ok(vec![Phase::Starting, Phase::Running, Phase::Yielding, Phase::Closing]),
        "SUCCEEDED" => Ok(vec![Phase::Completed]),
        "FAILED" => Ok(vec![Phase::Failed, Phase::Cancelled]),
        other => Err(format!("phase is RUNNING, SUCCEEDED or FAILED, not {other:?}")),
    }
}
