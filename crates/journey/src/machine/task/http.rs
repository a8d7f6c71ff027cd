//! `httpCall:v1`: a task of the engine. Any response or failure continues the run.

use meantime_core::{Fault, Json, RetryPolicy, TaskKind, TaskOutcome, TaskSpec};
use meantime_value::Value;

use super::result::{http_result, is_ok};
use crate::definition::{Binding, BodyPart, HttpBody, HttpCall, RetryOn, State, Template};
use crate::json;
use crate::machine::evaluate::{Encode, StateEvaluation, percent_encode};
use crate::machine::run::Run;
use crate::machine::saved::FrameId;
use crate::machine::transition::{StateError, Transition};
use crate::read::is_absolute;
use crate::surface::{HTTP_TASK, HttpRequest};

impl Run<'_> {
    pub(in crate::machine) fn enter_http(
        &mut self,
        id: FrameId,
        state: &State,
        call: &HttpCall,
    ) -> Result<Transition, Fault> {
        let request = match self.request(id, call)? {
            Ok(request) => request,
            Err(error) => return Ok(error.into()),
        };
        let notify = call.result_var.is_none();
        let retry = call.resilience.as_ref().map_or(RetryPolicy::never(), |it| it.retry);
        let spec = TaskSpec {
            kind: TaskKind::Engine,
            detached: notify,
            retry,
            ..TaskSpec::worker(HTTP_TASK, self.element_path(id), request)
        };
        if notify {
            self.push(meantime_core::Effect::ScheduleTask(spec));
            return Self::next_transition(state);
        }
        Ok(self.wait_for_task(spec))
    }

    pub(super) fn http_done(
        &mut self,
        id: FrameId,
        state: &State,
        call: &HttpCall,
        outcome: &TaskOutcome,
    ) -> Result<Transition, Fault> {
        self.record_gone_request(id, outcome)?;
        let result = http_result(outcome)?;
        if let Some(var) = &call.result_var {
            self.write_var(id, var, result.clone())?;
        }
        if let Some((mapper, destination)) = call.error_mapping.as_ref().filter(|_| !is_ok(&result))
        {
            let error = json::get(&result, &["error".to_owned()]).cloned().unwrap_or_default();
            let extra = vec![(Binding::Payload, result), (Binding::Error, error)];
            if let Err(error) = self.compute(id, mapper, destination, extra)? {
                return Ok(error.into());
            }
        }
        Self::next_transition(state)
    }

    /// The request for the engine.
    fn request(&mut self, id: FrameId, call: &HttpCall) -> StateEvaluation<Json> {
        let mut url = match self.fill(id, &call.url, Encode::Url)? {
            Ok(url) => url,
            Err(error) => return Ok(Err(error)),
        };
        let path_params = match self.fill_all(id, &call.path_params, Encode::Percent)? {
            Ok(params) => params,
            Err(error) => return Ok(Err(error)),
        };
        for (name, value) in path_params {
            url = url.replace(&format!("{{{name}}}"), &value);
        }
        let query = match self.fill_all(id, &call.query, Encode::Percent)? {
            Ok(query) => query,
            Err(error) => return Ok(Err(error)),
        };
        for (name, value) in query {
            let mark = if url.contains('?') { '&' } else { '?' };
            url = format!("{url}{mark}{}={value}", percent_encode(&name));
        }
        if !is_absolute(&url) {
            return Ok(Err(StateError::internal(format!("the URL `{url}` is not absolute"))));
        }
        let mut headers = match self.fill_all(id, &call.headers, Encode::Plain)? {
            Ok(headers) => headers,
            Err(error) => return Ok(Err(error)),
        };
        let body = match self.http_body(id, call.body.as_ref(), &mut headers)? {
            Ok(body) => body,
            Err(error) => return Ok(Err(error)),
        };
        let causes = call.resilience.iter().flat_map(|it| it.retry_on.iter());
        let auth = call.auth.as_ref().and_then(|id| self.journey.auth.get(id));
        let request = HttpRequest {
            method: call.method.clone(),
            url,
            headers: headers.into_iter().collect(),
            body,
            timeout_ms: call.timeout_ms,
            retry_on: causes.map(|cause: &RetryOn| cause.name().to_owned()).collect(),
            auth: auth.map(|auth| Json::from(&auth.document)),
            request: self.frame(id)?.request.clone(),
        };
        Ok(Json::of(&request).map_err(|error| StateError::internal(error.to_string())))
    }

    fn fill_all(
        &mut self,
        id: FrameId,
        templates: &[(String, Template)],
        encode: Encode,
    ) -> StateEvaluation<Vec<(String, String)>> {
        let mut filled = Vec::with_capacity(templates.len());
        for (name, template) in templates {
            match self.fill(id, template, encode)? {
                Ok(value) => filled.push((name.clone(), value)),
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(filled))
    }

    /// The body for the engine: a text is sent unchanged, anything else as JSON.
    fn http_body(
        &mut self,
        id: FrameId,
        body: Option<&HttpBody>,
        headers: &mut Vec<(String, String)>,
    ) -> StateEvaluation<Option<Json>> {
        Ok(match body {
            None => Ok(None),
            Some(HttpBody::Text(template)) => {
                self.fill(id, template, Encode::Plain)?.map(|text| Some(Json::text(&text)))
            }
            Some(HttpBody::Document(part)) => {
                self.body_part(id, part)?.map(|it| Some(Json::from(&it)))
            }
            Some(HttpBody::Mapper(mapper)) => match self.evaluate(id, mapper, Vec::new())? {
                Ok(value) => Ok(Some(typed_body(&value, headers)?)),
                Err(error) => Err(error),
            },
        })
    }

    fn body_part(&mut self, id: FrameId, part: &BodyPart) -> StateEvaluation<serde_json::Value> {
        match part {
            BodyPart::Fixed(value) => Ok(Ok(value.clone())),
            BodyPart::Text(template) => {
                Ok(self.fill(id, template, Encode::Plain)?.map(serde_json::Value::from))
            }
            BodyPart::List(parts) => {
                let mut items = Vec::with_capacity(parts.len());
                for part in parts {
                    match self.body_part(id, part)? {
                        Ok(item) => items.push(item),
                        Err(error) => return Ok(Err(error)),
                    }
                }
                Ok(Ok(items.into()))
            }
            BodyPart::Map(parts) => {
                let mut fields = serde_json::Map::new();
                for (name, part) in parts {
                    match self.body_part(id, part)? {
                        Ok(value) => fields.insert(name.clone(), value),
                        Err(error) => return Ok(Err(error)),
                    };
                }
                Ok(Ok(fields.into()))
            }
        }
    }
}

/// The result of a mapper as a body of the declared content type: for JSON, a text becomes a JSON
/// text; for other types it is sent unchanged.
fn typed_body(value: &Value, headers: &mut Vec<(String, String)>) -> Result<Json, Fault> {
    let document = json::document(value)?;
    if json::string(value).is_none() {
        return Ok(document);
    }
    let declared = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let Some((_, declared)) = declared else {
        headers.push(("Content-Type".to_owned(), "text/plain; charset=utf-8".to_owned()));
        return Ok(document);
    };
    let kind = declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_json = kind == "application/json" || kind.ends_with("+json");
    Ok(if is_json { Json::text(document.as_str()) } else { document })
}
