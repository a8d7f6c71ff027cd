//! `spec`: blocks that others refer to are read first, then the states, then the rest.

use std::collections::BTreeMap;

use super::document::Header;
use super::fields::MappingReader;
use super::reader::Reader;
use crate::code::Code;
use crate::definition::{
    Binding, Compensation, CompensationMode, HttpBindings, Journey, Kind, StartMode, Subjourney,
};
use crate::openapi::OpenApi;
use crate::yaml::Node;

impl<'a> Reader<'a> {
    pub(super) fn spec(&mut self, node: &'a Node, header: Option<Header>) -> Option<Journey> {
        let mut fields = self.open(node, "spec", Code::Shape)?;
        self.referenced_blocks(&mut fields);
        let main = self.scope(&mut fields, Code::Target);
        let subjourneys = self.subjourneys(&mut fields);
        let compensation = self.compensation(&mut fields);
        let timeout = self.execution(&mut fields);
        let (cancellable, start_mode) = self.lifecycle(&mut fields);
        let (output, response) = self.output(&mut fields);
        let mut schema = |reader: &mut Self, key: &'static str| {
            let node = fields.get(key)?;
            reader.schema_block(node, &fields.name(key), Code::Shape)
        };
        let (input, context) = (schema(self, "input"), schema(self, "context"));
        let links = self.links(&mut fields);
        let metadata = self.metadata(&mut fields);
        let envelope = self.errors(&mut fields);
        let outcomes = self.outcomes(&mut fields);
        let (guard, public) = self.access(&mut fields);
        let http = fields.get("bindings").map(|node| self.transports(node));
        fields.finish(&mut self.report);
        // Without a header the definition is rejected, but the rest is still checked.
        let header = header.unwrap_or_default();
        Some(Journey {
            kind: self.kind,
            kind_span: self.kind_span,
            name: header.name,
            version: header.version,
            tags: header.tags,
            main: main?,
            subjourneys,
            compensation,
            input,
            output,
            context,
            response,
            config: std::mem::take(&mut self.config),
            timeout,
            links,
            cancellable,
            start_mode,
            metadata,
            envelope,
            outcomes,
            guard,
            public,
            reads_inbound_request: self.checks_credentials || has_passthrough(http.as_ref()),
            http: http.unwrap_or_default(),
            auth: std::mem::take(&mut self.auth.by_id),
        })
    }

    /// Reads the blocks that states refer to.
    fn referenced_blocks(&mut self, fields: &mut MappingReader<'a>) {
        if let Some(entry) = fields.entry("resources") {
            self.report
                .warn(Code::Resources, entry.key_span, "`spec.resources` is ignored")
                .help("remove the block; it is not part of the language any more");
        }
        if let Some(node) = fields.get("mappers") {
            let entries = self.entries(node, "spec.mappers", Code::Expression).unwrap_or_default();
            let bindings = [
                Binding::Context,
                Binding::Platform,
                Binding::Payload,
                Binding::Error,
                Binding::Branches,
                Binding::Outcomes,
                Binding::Output,
                Binding::Outcome,
            ];
            for entry in entries {
                // Compiled here only for its problems; compiled again at each use, with the names
                // that exist there.
                self.expression(&entry.value, &format!("spec.mappers.{}", entry.key), &bindings);
                self.mappers.insert(entry.key.clone(), &entry.value);
            }
        }
        if let Some(node) = fields.get("platform") {
            self.platform(node);
        }
        if let Some(node) = fields.get("apis") {
            self.apis(node);
        }
        if let Some(node) = fields.get("policies") {
            self.policies(node);
        }
        if let Some(node) = fields.get("defaults") {
            self.defaults(node);
        }
        if let Some(node) = fields.get("cookies") {
            self.cookies(node);
        }
    }

    fn apis(&mut self, node: &Node) {
        for entry in self.entries(node, "spec.apis", Code::Http).unwrap_or_default() {
            let what = format!("spec.apis.{}", entry.key);
            let Some(mut fields) = self.open(&entry.value, &what, Code::Http) else { continue };
            let reference = self.required(&mut fields, "openApiRef", Code::Http);
            fields.finish(&mut self.report);
            let Some(node) = reference else { continue };
            let Some(name) = self.text(node, &format!("{what}.openApiRef"), Code::Http) else {
                continue;
            };
            let file = self.files.iter().find(|file| file.name == name);
            let api = match file {
                Some(file) => OpenApi::read(&file.text),
                None => Err("the file was not found".to_owned()),
            };
            match api {
                Ok(api) => {
                    self.apis.insert(entry.key.clone(), api);
                }
                Err(problem) => {
                    let message = format!("`{name}`: {problem}");
                    self.report
                        .error(Code::Http, node.span, message)
                        .help("deploy the OpenAPI file together with the journey");
                    // An empty API, so that operations of the missing file are not reported as
                    // well.
                    self.apis.insert(entry.key.clone(), OpenApi::default());
                }
            }
        }
    }

    fn subjourneys(&mut self, fields: &mut MappingReader<'a>) -> BTreeMap<String, Subjourney> {
        let mut read = BTreeMap::new();
        let Some(node) = fields.get("subjourneys") else { return read };
        let entries = self.entries(node, "spec.subjourneys", Code::Subjourney);
        for entry in entries.unwrap_or_default() {
            let what = format!("spec.subjourneys.{}", entry.key);
            let Some(mut inner) = self.open(&entry.value, &what, Code::Subjourney) else {
                continue;
            };
            let scope = self.scope(&mut inner, Code::Subjourney);
            let mut schema = |reader: &mut Self, key: &'static str| {
                let node = inner.get(key)?;
                reader.schema_block(node, &inner.name(key), Code::Subjourney)
            };
            let (input, output) = (schema(self, "input"), schema(self, "output"));
            inner.finish(&mut self.report);
            if let Some(scope) = scope {
                read.insert(entry.key.clone(), Subjourney { scope, input, output });
            }
        }
        read
    }

    /// Rule 43.
    fn compensation(&mut self, fields: &mut MappingReader<'a>) -> Option<Compensation> {
        const MODES: [(&str, CompensationMode); 2] =
            [("async", CompensationMode::Async), ("sync", CompensationMode::Sync)];
        let code = Code::Compensation;
        let node = fields.get("compensation")?;
        let mut inner = self.open(node, "spec.compensation", code)?;
        let mode = match inner.get("mode") {
            Some(node) => self.one_of(node, &inner.name("mode"), code, &MODES),
            None => Some(CompensationMode::Async),
        };
        self.in_compensation = true;
        let scope = self.scope(&mut inner, code);
        self.in_compensation = false;
        let mut also_for = Vec::new();
        if let Some(node) = inner.get("alsoFor") {
            let what = inner.name("alsoFor");
            for (index, item) in self.list(node, &what, code).unwrap_or_default().iter().enumerate()
            {
                let rule = self.also_for(item, &format!("{what}[{index}]"));
                also_for.extend(rule);
            }
        }
        inner.finish(&mut self.report);
        Some(Compensation { mode: mode?, scope: scope?, also_for })
    }

    /// `when.predicate`; without a predicate it always applies.
    #[expect(clippy::option_option, reason = "none is an error, none inside is always")]
    fn also_for(
        &mut self,
        node: &Node,
        what: &str,
    ) -> Option<Option<crate::definition::Expression>> {
        let code = Code::Compensation;
        let mut fields = self.open(node, what, code)?;
        let mut bindings = self.bindings();
        bindings.extend([Binding::Output, Binding::Outcome]);
        let predicate = match fields.get("when") {
            Some(node) => {
                let mut when = self.open(node, &fields.name("when"), code)?;
                let predicate = when
                    .get("predicate")
                    .map(|node| self.expression(node, &when.name("predicate"), &bindings));
                when.finish(&mut self.report);
                match predicate {
                    Some(None) => None,
                    Some(predicate) => Some(predicate),
                    None => Some(None),
                }
            }
            None => Some(None),
        };
        fields.finish(&mut self.report);
        predicate
    }

    /// Rule 31.
    fn lifecycle(&mut self, fields: &mut MappingReader<'_>) -> (bool, StartMode) {
        const MODES: [(&str, StartMode); 2] =
            [("sync", StartMode::Sync), ("async", StartMode::Async)];
        let code = Code::Lifecycle;
        let (mut cancellable, mut start_mode) = (true, StartMode::Sync);
        let Some(node) = fields.get("lifecycle") else { return (cancellable, start_mode) };
        let Some(mut inner) = self.open(node, "spec.lifecycle", code) else {
            return (cancellable, start_mode);
        };
        if let Some(node) = inner.get("cancellable") {
            if self.kind == Kind::Api {
                let message = "an API has no `cancellable`";
                self.report
                    .error(code, node.span, message)
                    .help("a single request cannot be cancelled");
            }
            cancellable = self.boolean(node, "spec.lifecycle.cancellable", code).unwrap_or(true);
        }
        if let Some(node) = inner.get("startMode") {
            if self.kind == Kind::Api {
                let message = "an API has no `startMode`";
                self.report.error(code, node.span, message).help("an API always answers itself");
            }
            let mode = self.one_of(node, "spec.lifecycle.startMode", code, &MODES);
            start_mode = mode.unwrap_or(StartMode::Sync);
        }
        inner.finish(&mut self.report);
        (cancellable, start_mode)
    }
}

fn has_passthrough(http: Option<&HttpBindings>) -> bool {
    http.is_some_and(|http| {
        let mut requests = http.steps.values().map(|(request, _)| request).chain([&http.start]);
        requests.any(|it| !it.passthrough.is_empty())
    })
}
