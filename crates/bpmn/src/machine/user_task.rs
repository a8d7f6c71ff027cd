//! Tasks of people: completed through the API, with the attributes that task lists show.

use std::collections::BTreeMap;

use meantime_core::{Effect, Failure, Json, RetryPolicy, TaskKind, TaskSpec};

use super::json;
use super::state::{ElementInstanceId, WaitKind};
use super::turn::Machine;
use crate::expression::Expression;
use crate::model::UserTask;

impl Machine<'_> {
    pub(super) fn schedule_user_task(
        &mut self,
        id: ElementInstanceId,
        task: &UserTask,
    ) -> Result<(), Failure> {
        let Some(node) = self.node_of(id) else { return Ok(()) };
        let mut shown: BTreeMap<String, Json> =
            task.headers.iter().map(|(key, value)| (key.clone(), json::of_text(value))).collect();
        if let Some(name) = &node.name {
            shown.insert("name".to_owned(), json::of_text(name));
        }
        let single = [
            ("assignee", &task.assignee),
            ("dueDate", &task.due_date),
            ("followUpDate", &task.follow_up_date),
            ("priority", &task.priority),
            ("formKey", &task.form),
        ];
        for (key, expression) in single {
            self.show(id, &mut shown, key, expression.as_ref(), false)?;
        }
        let groups = [
            ("candidateGroups", &task.candidate_groups),
            ("candidateUsers", &task.candidate_users),
        ];
        for (key, expression) in groups {
            self.show(id, &mut shown, key, expression.as_ref(), true)?;
        }
        let assignee = shown.get("assignee").and_then(json::scalar_text);
        let name = node.id.to_string();
        let mut spec =
            TaskSpec::worker(&name, self.element_path(id), json::object(&self.visible(id)));
        (spec.kind, spec.retry, spec.assignee) = (TaskKind::User, RetryPolicy::never(), assignee);
        spec.headers = (!shown.is_empty()).then(|| json::object(&shown));
        let key = self.push(Effect::ScheduleTask(spec));
        self.add_own_wait(id, key, WaitKind::UserTask, name);
        Ok(())
    }

    /// Evaluates one attribute; a list may be written with commas.
    fn show(
        &mut self,
        id: ElementInstanceId,
        shown: &mut BTreeMap<String, Json>,
        key: &str,
        expression: Option<&Expression>,
        list: bool,
    ) -> Result<(), Failure> {
        let Some(expression) = expression else { return Ok(()) };
        let mut value = self.evaluate(expression, id)?;
        if list && let Some(text) = json::text(&value) {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            value = json::list(&parts.map(json::of_text).collect::<Vec<_>>());
        }
        if !value.is_null() {
            shown.insert(key.to_owned(), value);
        }
        Ok(())
    }
}
