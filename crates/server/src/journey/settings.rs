//! Settings of journeys.

use std::collections::BTreeMap;
use std::path::PathBuf;

use meantime_core::time::Span;
use meantime_core::{Json, Limits};
use meantime_journey::{MetadataLimits, Settings};
use serde::{Deserialize, Serialize};

use crate::settings::{ApiKey, JwtSettings};

/// The section `[journeys]` of the configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JourneySettings {
    /// `platform.environment` in expressions.
    pub environment: String,
    /// Values of `platform.config`, by key.
    pub config: BTreeMap<String, toml::Value>,
    /// A file of `kind: MetadataLimits`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<PathBuf>,
    /// Sources of secrets, by the reference that definitions use.
    pub secrets: BTreeMap<String, SecretSource>,
    /// Credentials that `apiKeyValidate:v1` and `jwtValidate:v1` accept, by profile.
    pub profiles: BTreeMap<String, ProfileSettings>,
    /// Maximum size of the cache of `cache:v1`, in bytes.
    pub max_cache_bytes: usize,
    /// Which journeys and APIs are public.
    pub public: PublicSettings,
}

/// Which journeys and APIs are public: they authenticate callers themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PublicSettings {
    /// Whether definitions with `access.public: true` are public.
    pub declared: bool,
    /// Names of further public definitions; `*` at the end matches anything. A definition with
    /// `access.public: false` is never public.
    pub names: Vec<String>,
}

impl Default for PublicSettings {
    fn default() -> Self {
        Self { declared: true, names: Vec::new() }
    }
}

impl PublicSettings {
    /// Whether a definition is public, by its name and its own declaration.
    pub(crate) fn is_public(&self, name: &str, declared: Option<bool>) -> bool {
        let is_named = |pattern: &String| match pattern.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => name == pattern,
        };
        match declared {
            Some(false) => false,
            Some(true) if self.declared => true,
            _ => self.names.iter().any(is_named),
        }
    }
}

impl Default for JourneySettings {
    fn default() -> Self {
        Self {
            environment: "local".to_owned(),
            config: BTreeMap::new(),
            limits: None,
            secrets: BTreeMap::new(),
            profiles: BTreeMap::new(),
            max_cache_bytes: 64 << 20,
            public: PublicSettings::default(),
        }
    }
}

/// The source of a secret, never the secret itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum SecretSource {
    /// An environment variable.
    Env(String),
    /// A file; trailing line ends are removed.
    File(PathBuf),
}

/// Credentials of callers that journeys accept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProfileSettings {
    /// API keys as hashes; their role is ignored here.
    pub keys: Vec<ApiKey>,
    /// Tokens of an identity provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwt: Option<JwtSettings>,
}

impl JourneySettings {
    /// Converts the settings for the notation; reads the limits file.
    pub fn to_notation_settings(&self) -> Result<Settings, String> {
        let metadata = match &self.limits {
            Some(path) => {
                let text = std::fs::read_to_string(path);
                let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
                MetadataLimits::read(&text).map_err(|problems| {
                    let first = problems.first().map(|it| it.message.clone());
                    format!("{}: {}", path.display(), first.unwrap_or_default())
                })?
            }
            None => MetadataLimits::default(),
        };
        let config = self.config.iter().map(|(key, value)| {
            let value = Json::of(value).map_err(|error| format!("journeys.config.{key}: {error}"));
            Ok((key.clone(), value?))
        });
        let (environment, config) =
            (self.environment.clone(), config.collect::<Result<_, String>>()?);
        let profiles = |has: fn(&ProfileSettings) -> bool| {
            let named = self.profiles.iter().filter(|(_, profile)| has(profile));
            named.map(|(name, _)| name.clone()).collect()
        };
        Ok(Settings {
            environment,
            config,
            secrets: self.secrets.keys().cloned().collect(),
            key_profiles: profiles(|it| !it.keys.is_empty()),
            jwt_profiles: profiles(|it| it.jwt.is_some()),
            deploys: true,
            metadata,
            ..Settings::default()
        })
    }
}

/// The limits of the engine, with those of the limits file of journeys applied.
pub(crate) fn effective_limits(settings: &Settings, mut limits: Limits) -> Limits {
    let span = |seconds: u64| {
        let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
        Span::from_millis(seconds.saturating_mul(1_000))
    };
    let metadata = &settings.metadata;
    limits.default_deadline =
        metadata.default_max_duration_sec.map(span).or(limits.default_deadline);
    limits.deadline_cap = metadata.max_duration_upper_bound_sec.map(span).or(limits.deadline_cap);
    limits
}

/// Secrets, read once at startup and never shown.
#[derive(Clone, Default)]
pub(crate) struct Secrets(BTreeMap<String, String>);

impl Secrets {
    pub(crate) fn read(sources: &BTreeMap<String, SecretSource>) -> Result<Self, String> {
        let read = |(name, source): (&String, &SecretSource)| {
            let secret = match source {
                SecretSource::Env(variable) => {
                    std::env::var(variable).map_err(|error| format!("{variable}: {error}"))
                }
                SecretSource::File(path) => std::fs::read_to_string(path)
                    .map(|text| text.trim_end_matches(['\r', '\n']).to_owned())
                    .map_err(|error| format!("{}: {error}", path.display())),
            };
            Ok((name.clone(), secret.map_err(|error| format!("journeys.secrets.{name}: {error}"))?))
        };
        Ok(Self(sources.iter().map(read).collect::<Result<_, String>>()?))
    }

    pub(crate) fn get(&self, reference: &str) -> Option<&str> {
        self.0.get(reference).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_public_unless_somebody_says_so() {
        let usual = PublicSettings::default();
        assert!(!usual.is_public("order", None) && !usual.is_public("order", Some(false)));
        assert!(usual.is_public("order", Some(true)));
        let names = vec!["order".to_owned(), "shop-*".to_owned()];
        let closed = PublicSettings { declared: false, names };
        assert!(!closed.is_public("other", Some(true)));
        assert!(closed.is_public("order", None) && closed.is_public("shop-a", Some(true)));
        assert!(!closed.is_public("order", Some(false)) && !closed.is_public("orders", None));
    }
}
