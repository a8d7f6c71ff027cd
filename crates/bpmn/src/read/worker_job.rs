//! Tasks of workers: their type and their attempts.

use meantime_core::time::{Cycle, Span};

use super::builder::Builder;
use super::tree::{Vendor, XmlElement, attribute, extension, text, vendor_attribute};
use crate::model::WorkerJob;
use crate::problem::Code;

impl<'a> Builder<'a> {
    /// The task of an activity or throwing event. `on` is the element with the attributes of
    /// Camunda 7.
    pub(super) fn worker_job(
        &mut self,
        element: XmlElement<'a>,
        on: XmlElement<'a>,
    ) -> Option<WorkerJob> {
        let errors = self.problems.errors();
        self.refuse_java(on);
        let definition = extension(element, Vendor::Zeebe, "taskDefinition");
        let kind = definition
            .and_then(|it| attribute(it, "type"))
            .or_else(|| vendor_attribute(element, Vendor::Meantime, "type"))
            .or_else(|| vendor_attribute(on, Vendor::Meantime, "type"))
            .or_else(|| vendor_attribute(on, Vendor::Camunda, "topic"));
        let Some(kind) = kind else {
            // A decision is rejected with its own message.
            let decides = extension(element, Vendor::Zeebe, "calledDecision").is_some();
            if self.problems.errors() == errors && !decides {
                let what = "no worker is named for this";
                let help = "set zeebe:taskDefinition type, camunda:topic or meantime:type";
                self.error_with_help(Code::NoTaskType, element, what, help);
            }
            return None;
        };
        let kind = self.expression(element, kind);
        let retries = definition.and_then(|it| attribute(it, "retries")).map(str::to_owned);
        let mut retries = retries.map(|it| self.expression(element, &it));
        let mut retry_ms = None;
        if let Some((count, wait_ms)) = self.retry_cycle(element) {
            retries = Some(crate::expression::Expression::number(count));
            retry_ms = Some(wait_ms);
        }
        let priority = vendor_attribute(on, Vendor::Camunda, "taskPriority").map(str::to_owned);
        let priority = priority.map(|it| self.expression(element, &it));
        let headers = self.headers(element);
        let result = vendor_attribute(on, Vendor::Camunda, "resultVariable").map(str::to_owned);
        Some(WorkerJob { kind, retries, retry_ms, priority, headers, result })
    }

    /// Rejects tasks that are bound to classes or beans of another engine.
    fn refuse_java(&mut self, element: XmlElement<'a>) {
        for wanted in ["class", "delegateExpression", "expression"] {
            if let Some(value) = vendor_attribute(element, Vendor::Camunda, wanted) {
                let what = format!("camunda:{wanted}=\"{value}\" needs Java code in the engine");
                let help =
                    "make it an external task: camunda:type=\"external\" and a camunda:topic";
                self.error_with_help(Code::Java, element, &what, help);
            }
        }
        if let Some(decision) = vendor_attribute(element, Vendor::Camunda, "decisionRef") {
            let what = format!("the decision `{decision}` is not executed: there is no DMN here");
            let help = "let a worker decide: camunda:type=\"external\" and a camunda:topic";
            self.error_with_help(Code::UnsupportedAttribute, element, &what, help);
        }
        match vendor_attribute(element, Vendor::Camunda, "type") {
            None | Some("external") => {}
            Some(other) => {
                let what = format!("camunda:type=\"{other}\" is not executed");
                let help =
                    "make it an external task: camunda:type=\"external\" and a camunda:topic";
                self.error_with_help(Code::UnsupportedAttribute, element, &what, help);
            }
        }
    }

    /// `R3/PT10M`: three attempts, ten minutes apart. `PT1M,PT5M`: one attempt more than there are
    /// durations; all are apart by the first duration.
    fn retry_cycle(&mut self, element: XmlElement<'a>) -> Option<(u64, u64)> {
        let cycle = extension(element, Vendor::Camunda, "failedJobRetryTimeCycle")?;
        let written = text(cycle);
        let waits: Option<Vec<Span>> =
            written.split(',').map(|it| Span::parse_delay(it.trim()).ok()).collect();
        if let Some((waits, first)) = waits.as_ref().and_then(|it| Some((it, it.first()?))) {
            if waits.len() > 1 {
                self.note(cycle, "all attempts are as far apart as the first two");
            }
            let wait = u64::try_from(first.approx_millis()).unwrap_or_default();
            return Some((waits.len() as u64 + 1, wait));
        }
        match Cycle::parse(&written) {
            Ok(parsed) => {
                let wait = u64::try_from(parsed.interval().approx_millis()).unwrap_or_default();
                Some((parsed.count().unwrap_or(3), wait))
            }
            Err(error) => {
                let help = "write R3/PT10M: how many attempts, how far apart; or PT1M,PT5M";
                let what = format!("`{written}`: {error}");
                self.error_with_help(Code::BadValue, cycle, &what, help);
                None
            }
        }
    }
}
