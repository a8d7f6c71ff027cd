//! `cache:v1`: one logical cache per deployment, kept by the engine.

use meantime_core::{Fault, Json, RetryPolicy, TaskKind, TaskOutcome, TaskSpec};
use meantime_value::Value;

use crate::definition::{Cache, Expression, State};
use crate::json;
use crate::machine::evaluate::StateEvaluation;
use crate::machine::run::Run;
use crate::machine::saved::FrameId;
use crate::machine::transition::{StateError, Transition};

/// The task name of the engine.
pub(crate) const CACHE_TASK: &str = "cache:v1";

impl Run<'_> {
    pub(in crate::machine) fn enter_cache(
        &mut self,
        id: FrameId,
        cache: &Cache,
    ) -> Result<Transition, Fault> {
        let (Cache::Get { key, .. } | Cache::Put { key, .. }) = cache;
        let key = match self.cache_key(id, key)? {
            Ok(key) => key,
            Err(error) => return Ok(error.into()),
        };
        let input = match cache {
            Cache::Get { .. } => {
                Json::object([("key", &Json::text(&key)), ("operation", &Json::text("get"))])
            }
            Cache::Put { value, ttl_seconds, .. } => {
                let value = match self.evaluate(id, value, Vec::new())? {
                    Ok(value) => json::document(&value)?,
                    Err(error) => return Ok(error.into()),
                };
                let ttl_seconds = ttl_seconds.map_or_else(Json::null, Json::from);
                Json::object([
                    ("key", &Json::text(&key)),
                    ("operation", &Json::text("put")),
                    ("ttlSeconds", &ttl_seconds),
                    ("value", &value),
                ])
            }
        };
        let spec = TaskSpec {
            kind: TaskKind::Engine,
            retry: RetryPolicy::never(),
            ..TaskSpec::worker(CACHE_TASK, self.element_path(id), input)
        };
        Ok(self.wait_for_task(spec))
    }

    pub(super) fn cache_done(
        &mut self,
        id: FrameId,
        state: &State,
        cache: &Cache,
        outcome: &TaskOutcome,
    ) -> Result<Transition, Fault> {
        if let Cache::Get { result_var, .. } = cache {
            // Any failure to read is a miss.
            let value = match outcome {
                TaskOutcome::Completed(value) => json::parse(value)?,
                TaskOutcome::Failed { .. } => Value::Null,
            };
            self.write_var(id, result_var, value)?;
        }
        Self::next_transition(state)
    }

    /// The key, as text.
    fn cache_key(&mut self, id: FrameId, key: &Expression) -> StateEvaluation<String> {
        let value = self.evaluate(id, key, Vec::new())?;
        Ok(value.and_then(|value| match json::string(&value) {
            Some(text) => Ok(text),
            None => json::text(&value).map_err(|error| StateError::internal(error.to_string())),
        }))
    }
}
