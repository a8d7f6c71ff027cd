//! Tasks by their kind (rules 44 to 49).

use super::fields::MappingReader;
use super::reader::Reader;
use super::scope::ReadState;
use crate::code::Code;
use crate::definition::{Destination, StateBody, Task, WorkerTask};
use crate::yaml::{Node, Span};

impl Reader<'_> {
    pub(super) fn task_state(&mut self, fields: &mut MappingReader<'_>) -> ReadState {
        let node = self.required(fields, "task", Code::TaskKind);
        let task = node.and_then(|node| self.task(node, &fields.name("task")));
        let next = self.next(fields, Code::Flow);
        Some((StateBody::Task(Box::new(task?)), next))
    }

    fn task(&mut self, node: &Node, what: &str) -> Option<Task> {
        let mut fields = self.open(node, what, Code::TaskKind)?;
        let kind = self.required(&mut fields, "kind", Code::TaskKind)?;
        let name = self.text(kind, &fields.name("kind"), Code::TaskKind)?;
        if !is_kind(&name) {
            let message = format!("`{what}.kind` is `{name}`, not a name and a version");
            self.report.error(Code::TaskKind, kind.span, message).help("such as `httpCall:v1`");
            return None;
        }
        self.check_cookies(&mut fields, &name);
        let task = match name.as_str() {
            "httpCall:v1" => self.http_call(&mut fields).map(Task::Http),
            "schedule:v1" => self.schedule(&mut fields).map(Task::Schedule),
            "cache:v1" => self.cache(&mut fields).map(Task::Cache),
            "apiKeyValidate:v1" | "jwtValidate:v1" => {
                self.auth_check(&mut fields, &name).map(Task::Auth)
            }
            "mtlsValidate:v1" => self.refuse_mtls(&mut fields, kind.span),
            "kafkaPublish:v1" => self.refuse_kafka(&mut fields, kind.span),
            "xmlDecode:v1" => self.refuse_xml(&mut fields, kind.span),
            _ if is_built_in(&name) => {
                let message = format!("there is no version `{name}`");
                self.report.error(Code::TaskKind, kind.span, message).help("write `:v1`");
                return None;
            }
            _ => self.worker_task(&mut fields, name, kind.span).map(Task::Worker),
        };
        fields.finish(&mut self.report);
        task
    }

    /// A kind that is not built in is run by workers (JR8).
    fn worker_task(
        &mut self,
        fields: &mut MappingReader<'_>,
        kind: String,
        span: Span,
    ) -> Option<WorkerTask> {
        if self.kind == crate::definition::Kind::Api {
            let message = format!("`{kind}` is not built in, and an API has no workers");
            self.report.error(Code::TaskKind, span, message).help("use `kind: Journey`");
        }
        let code = Code::TaskKind;
        let bindings = self.bindings();
        let input = match fields.get("input") {
            Some(node) => Some(self.mapper_object(node, &fields.name("input"), code, &bindings)?),
            None => None,
        };
        let result_var = match fields.get("resultVar") {
            Some(node) => Some(self.identifier(node, &fields.name("resultVar"), code)?),
            None => None,
        };
        let timeout_ms = match fields.get("timeoutMs") {
            Some(node) => Some(self.milliseconds(node, &fields.name("timeoutMs"), code)?),
            None => None,
        };
        Some(WorkerTask { kind, input, result_var, timeout_ms })
    }

    pub(super) fn milliseconds(&mut self, node: &Node, what: &str, code: Code) -> Option<u64> {
        self.integer(node, what, code, 1).and_then(|it| u64::try_from(it).ok())
    }

    /// Rule 46.
    fn check_cookies(&mut self, fields: &mut MappingReader<'_>, kind: &str) {
        let Some(node) = fields.get("cookies") else { return };
        if kind != "httpCall:v1" {
            let message = format!("`{kind}` has no `cookies`");
            self.report.error(Code::TaskCookies, node.span, message);
            return;
        }
        let Some(mut block) = self.open(node, &fields.name("cookies"), Code::TaskCookies) else {
            return;
        };
        if let Some(node) = block.get("useJar") {
            self.boolean(node, &block.name("useJar"), Code::TaskCookies);
        }
        block.finish(&mut self.report);
    }

    /// Rule 47, shape only; this engine has no message broker.
    fn refuse_kafka(&mut self, fields: &mut MappingReader<'_>, span: Span) -> Option<Task> {
        let code = Code::Kafka;
        self.required_text(fields, "topic", code);
        let bindings = self.bindings();
        if let Some(node) = self.required(fields, "value", code) {
            self.mapper_object(node, &fields.name("value"), code, &bindings);
        }
        for key in ["resultVar", "errorMapping", "resiliencePolicyRef"] {
            if let Some(entry) = fields.entry(key) {
                self.report.error(
                    code,
                    entry.key_span,
                    format!("`kafkaPublish:v1` has no `{key}`"),
                );
            }
        }
        for key in ["key", "headers", "connectionSecretRef", "keySchemaRef", "valueSchemaRef"] {
            fields.get(key);
        }
        self.unsupported(span, "`kafkaPublish:v1`", "publish through an HTTP bridge or a worker");
        None
    }

    /// Rule 49, shape only; this engine does not read XML.
    fn refuse_xml(&mut self, fields: &mut MappingReader<'_>, span: Span) -> Option<Task> {
        let code = Code::XmlDecode;
        if let Some(node) = self.required(fields, "sourceVar", code) {
            self.identifier(node, &fields.name("sourceVar"), code);
        }
        let target = fields.get("target").map(|node| node.span);
        if let (Some(span), Some(Destination::Attributes)) =
            (target, self.destination(fields, None, code))
        {
            self.report.error(code, span, "XML is not decoded into attributes");
        }
        self.unsupported(span, "`xmlDecode:v1`", "decode in a worker, or in the service you call");
        None
    }

    fn refuse_mtls(&mut self, fields: &mut MappingReader<'_>, span: Span) -> Option<Task> {
        let keys = [
            "profile",
            "authVar",
            "trustAnchors",
            "allowAnyFromTrusted",
            "allowSubjects",
            "allowSans",
            "allowSerials",
        ];
        for key in keys {
            fields.get(key);
        }
        let help = "terminate TLS in front of the engine and check the header it sets";
        self.unsupported(span, "`mtlsValidate:v1`", help);
        None
    }
}

/// `<type>:v<major>`.
fn is_kind(name: &str) -> bool {
    let Some((kind, version)) = name.split_once(":v") else { return false };
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let has_name = kind.starts_with(|c: char| c.is_ascii_alphabetic()) && kind.chars().all(is_word);
    let is_number = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
    has_name && is_number && !version.starts_with('0')
}

/// Whether the kind is built in, in any version.
fn is_built_in(name: &str) -> bool {
    const BUILT_IN_KINDS: [&str; 8] = [
        "httpCall",
        "schedule",
        "cache",
        "apiKeyValidate",
        "jwtValidate",
        "mtlsValidate",
        "kafkaPublish",
        "xmlDecode",
    ];
    name.split_once(':').is_some_and(|(kind, _)| BUILT_IN_KINDS.contains(&kind))
}
