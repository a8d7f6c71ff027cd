//! `cache:v1`, `apiKeyValidate:v1` and `jwtValidate:v1`.

use super::fields::MappingReader;
use super::reader::Reader;
use crate::code::Code;
use crate::definition::{AuthCheck, AuthKind, AuthSource, Cache};
use crate::yaml::Node;

#[derive(Clone, Copy)]
enum Operation {
    Get,
    Put,
}

impl Reader<'_> {
    /// Rule 48.
    pub(super) fn cache(&mut self, fields: &mut MappingReader<'_>) -> Option<Cache> {
        const OPERATIONS: [(&str, Operation); 2] =
            [("get", Operation::Get), ("put", Operation::Put)];
        let code = Code::Cache;
        let operation = self.required(fields, "operation", code);
        let operation = operation
            .and_then(|node| self.one_of(node, &fields.name("operation"), code, &OPERATIONS));
        let bindings = self.bindings();
        let key = self.required(fields, "key", code);
        let key =
            key.and_then(|node| self.mapper_object(node, &fields.name("key"), code, &bindings));
        match operation? {
            Operation::Get => {
                self.refuse(fields, "value", "a cache `get`");
                if let Some(entry) = fields.entry("ttlSeconds") {
                    let message = "`ttlSeconds` has no effect on a cache `get`";
                    self.report
                        .warn(code, entry.key_span, message)
                        .help("an entry lasts as long as its `put` said");
                }
                let result_var = self.required(fields, "resultVar", code);
                let result_var = result_var
                    .and_then(|node| self.identifier(node, &fields.name("resultVar"), code));
                Some(Cache::Get { key: key?, result_var: result_var? })
            }
            Operation::Put => {
                self.refuse(fields, "resultVar", "a cache `put`");
                let value = self.required(fields, "value", code);
                let value = value.and_then(|node| {
                    self.mapper_object(node, &fields.name("value"), code, &bindings)
                });
                let ttl_seconds = match fields.get("ttlSeconds") {
                    Some(node) => {
                        let seconds = self.integer(node, &fields.name("ttlSeconds"), code, 1)?;
                        Some(u64::try_from(seconds).ok()?)
                    }
                    None => None,
                };
                Some(Cache::Put { key: key?, value: value?, ttl_seconds })
            }
        }
    }

    fn refuse(&mut self, fields: &mut MappingReader<'_>, key: &'static str, what: &str) {
        if let Some(entry) = fields.entry(key) {
            self.report.error(Code::Cache, entry.key_span, format!("{what} has no `{key}`"));
        }
    }

    pub(super) fn auth_check(
        &mut self,
        fields: &mut MappingReader<'_>,
        kind: &str,
    ) -> Option<AuthCheck> {
        let kind = if kind == AuthKind::Jwt.name() { AuthKind::Jwt } else { AuthKind::ApiKey };
        self.checks_credentials = true;
        let code = Code::Shape;
        let profile = self.optional_text(fields, "profile", code);
        let profile = profile.unwrap_or_else(|| "default".to_owned());
        let span = fields.get("profile").map_or(fields.span, |node| node.span);
        self.require_profile(span, kind, &profile);
        let source = fields.get("source");
        let source = source.map(|node| self.auth_source(node, &fields.name("source"), kind));
        let auth_var = match fields.get("authVar") {
            Some(node) => self.identifier(node, &fields.name("authVar"), code),
            None => Some("auth".to_owned()),
        };
        let source = match source {
            Some(source) => Some(source?),
            None => None,
        };
        Some(AuthCheck { kind, profile, source, auth_var: auth_var? })
    }

    fn auth_source(&mut self, node: &Node, what: &str, kind: AuthKind) -> Option<AuthSource> {
        let locations: &[(&str, &str)] = match kind {
            AuthKind::Jwt => &[("header", "header"), ("query", "query"), ("cookie", "cookie")],
            AuthKind::ApiKey => &[("header", "header"), ("query", "query")],
        };
        let mut fields = self.open(node, what, Code::Shape)?;
        let location = self.required(&mut fields, "location", Code::Shape);
        let location = location
            .and_then(|node| self.one_of(node, &fields.name("location"), Code::Shape, locations));
        let name = self.required_text(&mut fields, "name", Code::Shape);
        let scheme = self.optional_text(&mut fields, "scheme", Code::Shape);
        fields.finish(&mut self.report);
        Some(AuthSource { location: location?.to_owned(), name: name?, scheme })
    }
}
