//! Tasks of every kind.

use super::builder::Builder;
use super::tree::{
    Vendor, XmlElement, attribute, child, children, extension, extensions, name, text, vendor,
    vendor_attribute, vendor_children,
};
use crate::expression::{Expression, Language};
use crate::model::{NodeKind, NodeRef, Task, UserTask};
use crate::problem::Code;

impl<'a> Builder<'a> {
    pub(super) fn read_task(&mut self, element: XmlElement<'a>, parent: Option<NodeRef>) {
        self.check_attributes_and_extensions(element);
        self.check_children(element, &["script", "rendering"]);
        let task = match name(element) {
            "userTask" => Task::User(Box::new(self.user_task(element))),
            "receiveTask" => match self.receive_task(element) {
                Some(task) => task,
                None => return self.add_placeholder_task(element, parent),
            },
            "scriptTask" => self.script_task(element),
            // Camunda 8 writes a script as a worker's task or as an expression, at any of these
            // tasks.
            "serviceTask" | "sendTask" | "businessRuleTask" => {
                match self.worker_job(element, element) {
                    Some(work) => Task::Worker(Box::new(work)),
                    None => return self.add_placeholder_task(element, parent),
                }
            }
            _ => Task::Pass,
        };
        self.add_activity(element, NodeKind::Task(task), parent);
    }

    /// A placeholder for a task with problems, so that flows to it resolve.
    fn add_placeholder_task(&mut self, element: XmlElement<'a>, parent: Option<NodeRef>) {
        self.add_activity(element, NodeKind::Task(Task::Pass), parent);
    }

    /// Reads what all activities have: mappings, repetition, compensation.
    pub(super) fn add_activity(
        &mut self,
        element: XmlElement<'a>,
        kind: NodeKind,
        parent: Option<NodeRef>,
    ) -> NodeRef {
        for wanted in ["startQuantity", "completionQuantity"] {
            if attribute(element, wanted).is_some_and(|it| it != "1") {
                let what = format!("`{wanted}` other than 1 is not executed");
                self.error(Code::UnsupportedAttribute, element, &what);
            }
        }
        let mapping = self.mapping(element);
        let repeat = self.loop_characteristics(element);
        let for_compensation = self.flag(element, "isForCompensation", false);
        let at = self.add(element, kind, parent);
        let node = &mut self.nodes[at.0];
        (node.mapping, node.repeat, node.for_compensation) = (mapping, repeat, for_compensation);
        at
    }

    fn receive_task(&mut self, element: XmlElement<'a>) -> Option<Task> {
        if self.flag(element, "instantiate", false) {
            let what = "a receive task that starts instances is not executed";
            let help = "use a message start event";
            self.error_with_help(Code::UnsupportedAttribute, element, what, help);
        }
        self.message_subscription(element, element).map(Task::Receive)
    }

    fn script_task(&mut self, element: XmlElement<'a>) -> Task {
        if let Some(script) = extension(element, Vendor::Zeebe, "script") {
            let code = attribute(script, "expression").unwrap_or_default().to_owned();
            let code = self.expression(script, &code);
            let result = attribute(script, "resultVariable").map(str::to_owned);
            return Task::Script { code, result };
        }
        if extension(element, Vendor::Zeebe, "taskDefinition").is_some() {
            return match self.worker_job(element, element) {
                Some(work) => Task::Worker(Box::new(work)),
                None => Task::Pass,
            };
        }
        let result = vendor_attribute(element, Vendor::Camunda, "resultVariable")
            .or_else(|| vendor_attribute(element, Vendor::Meantime, "resultVariable"))
            .map(str::to_owned);
        let format = attribute(element, "scriptFormat").unwrap_or_default();
        let Some(language) = Language::from_name(format) else {
            let what = match format {
                "" => "the attribute `scriptFormat` is missing".to_owned(),
                other => format!("scripts in `{other}` do not run here"),
            };
            let help = "use javascript, flow, dataweave or feel, or a service task";
            self.error_with_help(Code::ScriptFormat, element, &what, help);
            return Task::Pass;
        };
        let Some(script) = child(element, "script") else {
            self.error(Code::Missing, element, "the script is missing");
            return Task::Pass;
        };
        let source = text(script);
        if !self.count_code_bytes(script, &source) {
            return Task::Pass;
        }
        let code = match Expression::script(&source, language) {
            Ok(code) => code,
            Err(problem) => {
                let help = problem.help.unwrap_or_default();
                self.error_with_help(Code::BadExpression, script, &problem.message, &help);
                Expression::null()
            }
        };
        Task::Script { code, result }
    }

    fn user_task(&mut self, element: XmlElement<'a>) -> UserTask {
        let mut task = UserTask { headers: self.headers(element), ..UserTask::default() };
        let mut camunda = |wanted: &str| {
            let found = vendor_attribute(element, Vendor::Camunda, wanted)
                .or_else(|| vendor_attribute(element, Vendor::Meantime, wanted));
            found.map(|found| self.expression(element, found))
        };
        task.assignee = camunda("assignee");
        task.candidate_groups = camunda("candidateGroups");
        task.candidate_users = camunda("candidateUsers");
        task.due_date = camunda("dueDate");
        task.follow_up_date = camunda("followUpDate");
        task.priority = camunda("priority");
        task.form = camunda("formKey").or_else(|| camunda("formRef"));
        for part in extensions(element).filter(|it| vendor(*it) == Vendor::Zeebe) {
            let mut zeebe = |wanted: &str| {
                let found = attribute(part, wanted).map(str::to_owned);
                found.map(|found| self.expression(part, &found))
            };
            match name(part) {
                "assignmentDefinition" => {
                    task.assignee = zeebe("assignee");
                    task.candidate_groups = zeebe("candidateGroups");
                    task.candidate_users = zeebe("candidateUsers");
                }
                "taskSchedule" => {
                    task.due_date = zeebe("dueDate");
                    task.follow_up_date = zeebe("followUpDate");
                }
                "priorityDefinition" => task.priority = zeebe("priority"),
                "formDefinition" => {
                    task.form = zeebe("formId")
                        .or_else(|| zeebe("formKey"))
                        .or_else(|| zeebe("externalReference"));
                }
                _ => {}
            }
        }
        self.standard_owners(element, &mut task);
        task
    }

    /// The elements of the standard that name people: `humanPerformer` and `potentialOwner`.
    fn standard_owners(&mut self, element: XmlElement<'a>, task: &mut UserTask) {
        for role in children(element) {
            let assignment = child(role, "resourceAssignmentExpression");
            let formal = assignment.and_then(|it| child(it, "formalExpression"));
            let Some(formal) = formal else { continue };
            let named = text(formal);
            match name(role) {
                "humanPerformer" => task.assignee = Some(self.expression(formal, &named)),
                "potentialOwner" => task.candidate_groups = Some(self.expression(formal, &named)),
                _ => {}
            }
        }
    }

    /// Static headers for the worker.
    pub(super) fn headers(&mut self, element: XmlElement<'a>) -> Vec<(String, String)> {
        let Some(headers) = extension(element, Vendor::Zeebe, "taskHeaders") else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for header in vendor_children(headers, "header") {
            let value = header.attribute("value").unwrap_or_default();
            match attribute(header, "key") {
                Some(key) => found.push((key.to_owned(), value.to_owned())),
                None => self.error(Code::Missing, header, "a header needs a key"),
            }
        }
        found
    }
}
