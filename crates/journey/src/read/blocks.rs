//! Small blocks of `spec`.

use meantime_value::Pattern;

use super::fields::MappingReader;
use super::reader::{Reader, is_identifier};
use crate::code::Code;
use crate::definition::{
    AuthKind, Binding, ConfigKey, ConfigType, Expression, OutcomeRule, Phase, Projection,
    RESERVED_OUTCOME_FIELDS, Schema, StateRef, Timeout,
};
use crate::yaml::{Node, Span};

pub(super) const OUTCOME_PHASES: [(&str, Phase); 2] =
    [("SUCCEEDED", Phase::Succeeded), ("FAILED", Phase::Failed)];

impl Reader<'_> {
    /// Rule 30.
    pub(super) fn execution(&mut self, fields: &mut MappingReader<'_>) -> Option<Timeout> {
        let code = Code::Execution;
        let node = fields.get("execution")?;
        let mut inner = self.open(node, "spec.execution", code)?;
        let seconds = self.required(&mut inner, "maxDurationSec", code);
        let seconds =
            seconds.and_then(|node| self.integer(node, "spec.execution.maxDurationSec", code, 1));
        let end = self.required(&mut inner, "onTimeout", code).and_then(|node| {
            let mut block = self.open(node, "spec.execution.onTimeout", code)?;
            let error = self.required_text(&mut block, "errorCode", code);
            let reason = self.required_text(&mut block, "reason", code);
            block.finish(&mut self.report);
            Some((error?, reason?))
        });
        inner.finish(&mut self.report);
        let (code, reason) = end?;
        Some(Timeout { max_duration_sec: seconds?, code, reason })
    }

    /// `spec.output` (rule 58).
    pub(super) fn output(
        &mut self,
        fields: &mut MappingReader<'_>,
    ) -> (Option<Schema>, Option<Projection>) {
        let code = Code::OutputResponse;
        let Some(node) = fields.get("output") else { return (None, None) };
        let Some(mut inner) = self.open(node, "spec.output", code) else { return (None, None) };
        let schema = inner.get("schema").and_then(|node| self.schema(node, "spec.output.schema"));
        let response = inner.get("response").and_then(|node| {
            let mut block = self.open(node, "spec.output.response", code)?;
            let output_var = self.required(&mut block, "outputVar", code);
            let output_var = output_var
                .and_then(|node| self.identifier(node, "spec.output.response.outputVar", code));
            if let Some(node) = block.get("schema") {
                self.projected_schema(node, "spec.output.response", &RESERVED_OUTCOME_FIELDS, code);
            }
            block.finish(&mut self.report);
            Some(Projection { output_var: output_var? })
        });
        inner.finish(&mut self.report);
        (schema, response)
    }

    /// A schema of properties at the top level of an answer; names that the answer reserves are
    /// rejected.
    pub(super) fn projected_schema(&mut self, node: &Node, what: &str, taken: &[&str], code: Code) {
        let Some(schema) = self.schema(node, &format!("{what}.schema")) else { return };
        for name in schema.properties().filter(|name| taken.contains(name)) {
            let message = format!("`{what}` cannot have the property `{name}`");
            self.report.error(code, node.span, message).help("the answer has a field of that name");
        }
    }

    pub(super) fn links(&mut self, fields: &mut MappingReader<'_>) -> bool {
        let Some(node) = fields.get("httpSurface") else { return true };
        let Some(mut inner) = self.open(node, "spec.httpSurface", Code::Shape) else { return true };
        let enabled = inner.get("links").and_then(|node| {
            let mut links = self.open(node, "spec.httpSurface.links", Code::Shape)?;
            let enabled = links
                .get("enabled")
                .and_then(|node| self.boolean(node, "spec.httpSurface.links.enabled", Code::Shape));
            links.finish(&mut self.report);
            enabled
        });
        inner.finish(&mut self.report);
        enabled.unwrap_or(true)
    }

    /// Rule 56. Returns the mapper of a custom envelope.
    pub(super) fn errors(&mut self, fields: &mut MappingReader<'_>) -> Option<Expression> {
        let code = Code::Errors;
        let node = fields.get("errors")?;
        let mut inner = self.open(node, "spec.errors", code)?;
        if let Some(node) = inner.get("canonicalFormat") {
            self.one_of(node, "spec.errors.canonicalFormat", code, &[("rfc9457", ())]);
        }
        let mut bindings = self.bindings();
        bindings.push(Binding::Error);
        if let Some(node) = inner.get("normalisers") {
            for entry in node.entries().unwrap_or_default() {
                let what = format!("spec.errors.normalisers.{}", entry.key);
                self.mapper_object(&entry.value, &what, code, &bindings);
            }
        }
        let envelope = inner.get("envelope").and_then(|node| {
            let mut block = self.open(node, "spec.errors.envelope", code)?;
            let words = [("problemDetails", false), ("custom", true)];
            let custom = match block.get("format") {
                Some(node) => self.one_of(node, "spec.errors.envelope.format", code, &words)?,
                None => false,
            };
            let mapper = if custom {
                self.mapper(&mut block, code, &bindings)
            } else {
                if let Some(entry) = block.entry("mapper") {
                    let message = "`spec.errors.envelope.mapper` without `format: custom`";
                    self.report.error(code, entry.key_span, message);
                }
                None
            };
            block.finish(&mut self.report);
            mapper
        });
        inner.finish(&mut self.report);
        envelope
    }

    /// Rule 57.
    pub(super) fn outcomes(&mut self, fields: &mut MappingReader<'_>) -> Vec<OutcomeRule> {
        let code = Code::Outcomes;
        let Some(node) = fields.get("outcomes") else { return Vec::new() };
        let Some(entries) = self.entries(node, "spec.outcomes", code) else { return Vec::new() };
        let mut bindings = self.bindings();
        bindings.extend([Binding::Error, Binding::Output]);
        let mut rules = Vec::new();
        for entry in entries {
            let what = format!("spec.outcomes.{}", entry.key);
            let rule = self.open(&entry.value, &what, code).and_then(|mut block| {
                let when = self.required(&mut block, "when", code);
                block.finish(&mut self.report);
                let mut when = self.open(when?, &format!("{what}.when"), code)?;
                let phase = self.required(&mut when, "phase", code);
                let phase = phase
                    .and_then(|node| self.one_of(node, &when.name("phase"), code, &OUTCOME_PHASES));
                let predicate = match when.get("predicate") {
                    Some(node) => {
                        Some(self.expression(node, &when.name("predicate"), &bindings)?)
                    }
                    None => None,
                };
                when.finish(&mut self.report);
                Some(OutcomeRule { id: entry.key.clone(), phase: phase?, predicate })
            });
            rules.extend(rule);
        }
        rules
    }

    /// Rule 60, shape only: the read guard, and whether the definition is public.
    pub(super) fn access(
        &mut self,
        fields: &mut MappingReader<'_>,
    ) -> (Option<StateRef>, Option<bool>) {
        let Some(node) = fields.get("access") else { return (None, None) };
        let Some(mut inner) = self.open(node, "spec.access", Code::Access) else {
            return (None, None);
        };
        let public = inner.get("public");
        let public = public.and_then(|node| self.boolean(node, "spec.access.public", Code::Access));
        let guard = inner.get("read").and_then(|node| {
            let mut read = self.open(node, "spec.access.read", Code::Access)?;
            let guard = self.required(&mut read, "guardRef", Code::Access);
            let guard =
                guard.and_then(|node| self.target(node, "spec.access.read.guardRef", Code::Access));
            read.finish(&mut self.report);
            guard
        });
        inner.finish(&mut self.report);
        (guard, public)
    }

    /// `spec.platform.config` (rule 61).
    pub(super) fn platform(&mut self, node: &Node) {
        const CONFIG_TYPES: [(&str, ConfigType); 5] = [
            ("string", ConfigType::String),
            ("integer", ConfigType::Integer),
            ("number", ConfigType::Number),
            ("boolean", ConfigType::Boolean),
            ("object", ConfigType::Object),
        ];
        let code = Code::Config;
        let Some(mut fields) = self.open(node, "spec.platform", code) else { return };
        let entries = fields.get("config").and_then(Node::entries).unwrap_or_default();
        for entry in entries {
            let what = format!("spec.platform.config.{}", entry.key);
            let Some(mut block) = self.open(&entry.value, &what, code) else { continue };
            let kind = self.required(&mut block, "type", code);
            let kind =
                kind.and_then(|node| self.one_of(node, &block.name("type"), code, &CONFIG_TYPES));
            let required = match block.get("required") {
                Some(node) => self.boolean(node, &block.name("required"), code),
                None => Some(false),
            };
            self.optional_text(&mut block, "description", code);
            block.finish(&mut self.report);
            if !is_identifier(&entry.key) {
                let message = format!("`{what}` cannot be used in an expression");
                self.report.warn(code, entry.key_span, message);
            }
            if let (Some(kind), Some(required)) = (kind, required) {
                let key = ConfigKey { kind, required };
                self.check_config_value(&entry.key, &key, entry.key_span);
                self.config.insert(entry.key.clone(), key);
            }
        }
        fields.finish(&mut self.report);
    }

    /// Checks that the deployment has a value of the right type.
    fn check_config_value(&mut self, name: &str, key: &ConfigKey, span: Span) {
        let problem = match self.settings.config.get(name) {
            Some(value) if key.kind.accepts(value) => return,
            Some(_) => format!("the value of `platform.config.{name}` is not {}", key.kind.name()),
            None if key.required => format!("`platform.config.{name}` has no value"),
            None => return,
        };
        self.report_missing_config(span, problem, "configure it before deploying");
    }

    /// Checks a secret that a call needs.
    pub(super) fn require_secret(&mut self, node: &Node, reference: &str) {
        if !self.settings.secrets.contains(reference) {
            let problem = format!("no secret is configured for `{reference}`");
            self.report_missing_config(
                node.span,
                problem,
                "configure it in `journeys.secrets` before deploying",
            );
        }
    }

    /// Checks a profile that a credential check needs.
    pub(super) fn require_profile(&mut self, span: Span, kind: AuthKind, profile: &str) {
        let (known, what) = match kind {
            AuthKind::ApiKey => (&self.settings.key_profiles, "keys"),
            AuthKind::Jwt => (&self.settings.jwt_profiles, "jwt"),
        };
        if !known.contains(profile) {
            let problem = format!("the profile `{profile}` has no `{what}` for `{}`", kind.name());
            let help = format!("configure `journeys.profiles.{profile}.{what}` before deploying");
            self.report_missing_config(span, problem, &help);
        }
    }

    /// A missing value is an error if the definition is being deployed here, otherwise a warning.
    fn report_missing_config(&mut self, span: Span, problem: String, help: &str) {
        if self.settings.deploys {
            self.report.error(Code::Config, span, problem).help(help);
        } else {
            self.report.warn(Code::Config, span, problem).help("the deployment must supply it");
        }
    }

    /// Records the use of a configuration value.
    pub(super) fn use_config(&mut self, key: &str, span: Span) {
        if !self.config.contains_key(key) {
            let message = format!("`platform.config.{key}` is not declared");
            self.report
                .warn(Code::Config, span, message)
                .help("declare it in `spec.platform.config`; values that are not are never there");
        }
    }

    pub(super) fn defaults(&mut self, node: &Node) {
        let Some(mut fields) = self.open(node, "spec.defaults", Code::Shape) else { return };
        if let Some(node) = fields.get("http")
            && let Some(mut http) = self.open(node, "spec.defaults.http", Code::Http)
        {
            if let Some(node) = http.get("timeoutMs") {
                self.defaults.timeout_ms =
                    self.milliseconds(node, "spec.defaults.http.timeoutMs", Code::Http);
            }
            if let Some(node) = http.get("headers") {
                let headers = self.templates(node, "spec.defaults.http.headers", Code::Http);
                self.defaults.headers = headers.unwrap_or_default();
            }
            http.finish(&mut self.report);
        }
        if let Some(node) = fields.get("tasks")
            && let Some(mut tasks) = self.open(node, "spec.defaults.tasks", Code::Policy)
        {
            if let Some(node) = tasks.get("resiliencePolicyRef") {
                let what = "spec.defaults.tasks.resiliencePolicyRef";
                let id = self.text(node, what, Code::Policy);
                if let Some(id) = id.as_ref().filter(|id| !self.resilience.by_id.contains_key(*id))
                {
                    let message = format!("there is no retry policy `{id}`");
                    self.report.error(Code::Policy, node.span, message);
                }
                self.defaults.resilience = id;
            }
            tasks.finish(&mut self.report);
        }
        fields.finish(&mut self.report);
    }

    /// Which cookies are returned to the client: names, and patterns that compile.
    fn returned_cookies(&mut self, node: &Node) {
        let code = Code::Cookies;
        let what = "spec.cookies.returnToClient.include";
        let Some(mut fields) = self.open(node, what, code) else { return };
        if let Some(node) = fields.get("names") {
            self.texts(node, &fields.name("names"), code);
        }
        if let Some(node) = fields.get("namePatterns") {
            let what = fields.name("namePatterns");
            for pattern in self.texts(node, &what, code) {
                if let Err(error) = Pattern::new(&pattern) {
                    self.report.error(code, node.span, format!("`{what}`: `{pattern}` is {error}"));
                }
            }
        }
        fields.finish(&mut self.report);
    }

    /// Rule 59, shape only; this engine keeps no cookies.
    pub(super) fn cookies(&mut self, node: &Node) {
        let code = Code::Cookies;
        let Some(mut fields) = self.open(node, "spec.cookies", code) else { return };
        let jar = fields.get("jar");
        if let Some(node) = jar
            && let Some(mut jar) = self.open(node, "spec.cookies.jar", code)
        {
            if let Some(node) = self.required(&mut jar, "domains", code) {
                let what = jar.name("domains");
                for item in self.list(node, &what, code).unwrap_or_default() {
                    let Some(mut domain) = self.open(item, &what, code) else { continue };
                    self.required_text(&mut domain, "pattern", code);
                    domain.finish(&mut self.report);
                }
            }
            jar.finish(&mut self.report);
        }
        if let Some(node) = fields.get("returnToClient")
            && let Some(mut block) = self.open(node, "spec.cookies.returnToClient", code)
        {
            self.required_text(&mut block, "mode", code);
            if let Some(node) = block.get("include") {
                self.returned_cookies(node);
            }
            block.finish(&mut self.report);
            if jar.is_none() {
                let message = "`spec.cookies.returnToClient` without a `jar`";
                self.report.error(code, node.span, message);
            }
        }
        fields.finish(&mut self.report);
        let help = "set a `Cookie` header on the calls that need one";
        self.unsupported(node.span, "the cookie jar (`spec.cookies`)", help);
    }
}
