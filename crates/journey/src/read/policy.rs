//! `spec.policies`, and references to them (rule 50).

use meantime_core::RetryPolicy;

use super::fields::MappingReader;
use super::reader::{Policies, Reader};
use crate::code::Code;
use crate::definition::{ClientAuth, ResiliencePolicy, RetryOn};
use crate::yaml::Node;

/// The default delay between attempts, in milliseconds.
const DEFAULT_BASE_DELAY_MS: u64 = 1_000;

impl Reader<'_> {
    pub(super) fn policies(&mut self, node: &Node) {
        let Some(mut fields) = self.open(node, "spec.policies", Code::Policy) else { return };
        if let Some(node) = fields.get("httpResilience") {
            let what = fields.name("httpResilience");
            self.resilience = self.policy_group(node, &what, Self::resilience_policy);
            self.check_default(node, &what);
        }
        if let Some(node) = fields.get("httpClientAuth") {
            let what = fields.name("httpClientAuth");
            self.auth = self.policy_group(node, &what, Self::auth_policy);
        }
        fields.finish(&mut self.report);
    }

    /// `default` and `definitions`.
    fn policy_group<T>(
        &mut self,
        node: &Node,
        what: &str,
        read: fn(&mut Self, &Node, &str) -> Option<T>,
    ) -> Policies<T> {
        let mut policies = Policies::default();
        let Some(mut fields) = self.open(node, what, Code::Policy) else { return policies };
        policies.default = self.optional_text(&mut fields, "default", Code::Policy);
        if let Some(node) = fields.get("definitions") {
            let what = fields.name("definitions");
            for entry in self.entries(node, &what, Code::Policy).unwrap_or_default() {
                let name = format!("{what}.{}", entry.key);
                if let Some(policy) = read(self, &entry.value, &name) {
                    policies.by_id.insert(entry.key.clone(), policy);
                }
            }
        }
        fields.finish(&mut self.report);
        policies
    }

    fn check_default(&mut self, node: &Node, what: &str) {
        let Some(default) = self.resilience.default.clone() else { return };
        if !self.resilience.by_id.contains_key(&default) {
            let span = node.get("default").map_or(node.span, |it| it.span);
            let message = format!("`{what}.default` names `{default}`, which is not defined");
            self.report.error(Code::Policy, span, message);
        }
    }

    fn resilience_policy(&mut self, node: &Node, what: &str) -> Option<ResiliencePolicy> {
        const RETRY_CAUSES: [(&str, RetryOn); 3] = [
            (RetryOn::NetworkError.name(), RetryOn::NetworkError),
            (RetryOn::ServerError.name(), RetryOn::ServerError),
            (RetryOn::TooManyRequests.name(), RetryOn::TooManyRequests),
        ];
        let code = Code::Policy;
        let mut fields = self.open(node, what, code)?;
        let attempts = match self.required(&mut fields, "maxAttempts", code) {
            Some(node) => self.integer(node, &fields.name("maxAttempts"), code, 1),
            None => None,
        };
        let retry_on = match fields.get("retryOn") {
            Some(node) => {
                let name = fields.name("retryOn");
                let items = self.list(node, &name, code).unwrap_or_default();
                items
                    .iter()
                    .filter_map(|item| self.one_of(item, &name, code, &RETRY_CAUSES))
                    .collect()
            }
            None => RETRY_CAUSES.iter().map(|(_, cause)| *cause).collect(),
        };
        let mut retry = RetryPolicy {
            max_attempts: u32::try_from(attempts.unwrap_or(1)).unwrap_or(u32::MAX),
            base_ms: DEFAULT_BASE_DELAY_MS,
            max_ms: 60_000,
            exponential: false,
            jitter: false,
        };
        if let Some(node) = fields.get("backoff") {
            self.backoff(node, &fields.name("backoff"), &mut retry);
        }
        for key in ["circuitBreaker", "bulkhead", "subject-step-guard.work"] {
            if let Some(entry) = fields.entry(key) {
                let help = "retries, their delays and timeouts are; leave it out";
                self.unsupported(entry.key_span, &format!("`{what}.{key}`"), help);
            }
        }
        fields.finish(&mut self.report);
        attempts?;
        Some(ResiliencePolicy { retry, retry_on })
    }

    fn backoff(&mut self, node: &Node, what: &str, retry: &mut RetryPolicy) {
        let code = Code::Policy;
        let Some(mut fields) = self.open(node, what, code) else { return };
        if let Some(node) = fields.get("kind") {
            let words = [("fixed", false), ("exponential", true)];
            let kind = self.one_of(node, &fields.name("kind"), code, &words);
            retry.exponential = kind.unwrap_or_default();
        }
        if let Some(node) = fields.get("jitter") {
            let words = [("none", false), ("full", true)];
            retry.jitter =
                self.one_of(node, &fields.name("jitter"), code, &words).unwrap_or_default();
        }
        let mut delay = |reader: &mut Self, key: &'static str| {
            let node = fields.get(key)?;
            let ms = reader.integer(node, &fields.name(key), code, 0)?;
            u64::try_from(ms).ok()
        };
        let (base, initial) = (delay(self, "baseDelayMs"), delay(self, "initialDelayMs"));
        let longest = delay(self, "maxDelayMs");
        let factor = fields.get("factor");
        if fields.get("initialDelayMs").or(factor).is_some() {
            self.report
                .warn(Code::Backoff, node.span, format!("an older spelling in `{what}`"))
                .help("write `kind: exponential` and `baseDelayMs`; the factor is 2");
            retry.exponential = true;
        }
        retry.base_ms = base.or(initial).unwrap_or(retry.base_ms);
        retry.max_ms = longest.unwrap_or(retry.max_ms).max(retry.base_ms);
        fields.finish(&mut self.report);
    }

    fn auth_policy(&mut self, node: &Node, what: &str) -> Option<ClientAuth> {
        let mut fields = self.open(node, what, Code::Policy)?;
        let kind = self.required(&mut fields, "kind", Code::Policy)?;
        match kind.text() {
            Some("bearerStatic") => {
                self.required_secret(&mut fields, "tokenRef")?;
            }
            Some("oauth2ClientCredentials") => {
                self.required_text(&mut fields, "tokenEndpoint", Code::Policy)?;
                self.oauth_client(&mut fields)?;
                fields.get("form");
            }
            Some("mtlsClient") => {
                self.required_text(&mut fields, "clientCertRef", Code::Policy)?;
                fields.get("trustAnchors");
                let help = "use `bearerStatic` or `oauth2ClientCredentials`";
                self.unsupported(kind.span, "the client authentication `mtlsClient`", help);
            }
            _ => {
                let words = [("bearerStatic", ()), ("oauth2ClientCredentials", ())];
                self.one_of(kind, &fields.name("kind"), Code::Policy, &words)?;
            }
        }
        fields.finish(&mut self.report);
        Some(ClientAuth { document: node.to_json() })
    }

    fn required_secret(&mut self, fields: &mut MappingReader<'_>, key: &'static str) -> Option<()> {
        let reference = self.required_text(fields, key, Code::Policy)?;
        let node = fields.get(key)?;
        self.require_secret(node, &reference);
        Some(())
    }

    fn oauth_client(&mut self, fields: &mut MappingReader<'_>) -> Option<()> {
        let node = self.required(fields, "auth", Code::Policy)?;
        let mut auth = self.open(node, &fields.name("auth"), Code::Policy)?;
        let method = self.required(&mut auth, "method", Code::Policy)?;
        let words =
            [("clientSecretPost", true), ("clientSecretBasic", true), ("tlsClientAuth", false)];
        let secret = self.one_of(method, &auth.name("method"), Code::Policy, &words)?;
        self.required_text(&mut auth, "clientId", Code::Policy)?;
        if secret {
            self.required_secret(&mut auth, "clientSecretRef")?;
        } else {
            auth.get("clientCertRef");
            let help = "use `clientSecretBasic` or `clientSecretPost`";
            self.unsupported(method.span, "`tlsClientAuth`", help);
        }
        auth.finish(&mut self.report);
        Some(())
    }

    /// The policy of the task, else of the defaults, else the default policy. The outer option is
    /// an error.
    #[expect(clippy::option_option, reason = "none is an error, none inside is no policy")]
    pub(super) fn resilience_of(
        &mut self,
        fields: &mut MappingReader<'_>,
    ) -> Option<Option<ResiliencePolicy>> {
        let node = fields.get("resiliencePolicyRef");
        let id = match node {
            Some(node) => {
                Some(self.text(node, &fields.name("resiliencePolicyRef"), Code::Policy)?)
            }
            None => self.defaults.resilience.clone().or(self.resilience.default.clone()),
        };
        let Some(id) = id else { return Some(None) };
        match self.resilience.by_id.get(&id) {
            Some(policy) => Some(Some(policy.clone())),
            None => {
                if let Some(node) = node {
                    let message = format!("there is no retry policy `{id}`");
                    self.report
                        .error(Code::Policy, node.span, message)
                        .help("define it in `spec.policies.httpResilience.definitions`");
                }
                None
            }
        }
    }

    #[expect(clippy::option_option, reason = "none is an error, none inside is no policy")]
    pub(super) fn auth_of(&mut self, fields: &mut MappingReader<'_>) -> Option<Option<String>> {
        let Some(node) = fields.get("auth") else { return Some(None) };
        let mut block = self.open(node, &fields.name("auth"), Code::Policy)?;
        let id = self.required_text(&mut block, "policyRef", Code::Policy);
        block.finish(&mut self.report);
        let id = id?;
        if !self.auth.by_id.contains_key(&id) {
            let message = format!("there is no client authentication `{id}`");
            self.report
                .error(Code::Policy, node.span, message)
                .help("define it in `spec.policies.httpClientAuth.definitions`");
            return None;
        }
        Some(Some(id))
    }
}
