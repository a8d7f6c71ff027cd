//! `_links`: the next possible requests of a client.

use meantime_core::Json;
use serde_json::{Map, Value, json};

/// The base of every path.
pub(super) const BASE_PATH: &str = "/api/v1";

/// Links of one instance.
pub(super) struct Links {
    id: String,
    map: Map<String, Value>,
}

impl Links {
    pub(super) fn new(id: &str) -> Self {
        let mut links = Self { id: id.to_owned(), map: Map::new() };
        links.add("self", "", "GET");
        links
    }

    pub(super) fn result(mut self) -> Self {
        self.add("result", "/result", "GET");
        self
    }

    /// One link per step that accepts a submission; the relation is the step's id.
    pub(super) fn steps(mut self, steps: &[String]) -> Self {
        for step in steps {
            self.add(step, &format!("/steps/{step}"), "POST");
        }
        self
    }

    pub(super) fn cancel(mut self) -> Self {
        self.add("cancel", "/steps/cancel", "POST");
        self
    }

    pub(super) fn into_json(self) -> Json {
        Json::from(&Value::from(self.map))
    }

    fn add(&mut self, relation: &str, below: &str, method: &str) {
        let href = format!("{}{below}", href(&self.id));
        self.map.insert(relation.to_owned(), json!({ "href": href, "method": method }));
    }
}

/// The path of an instance.
pub(super) fn href(id: &str) -> String {
    format!("{BASE_PATH}/journeys/{id}")
}
