//! The settings of a deployment: environment, configuration values, limits on metadata.
//!
//! What a definition needs from the deployment is an error if it is being deployed, and a warning
//! if it is only checked.

use std::collections::{BTreeMap, BTreeSet};

use meantime_core::{Diagnostic, Json, Limits};

use crate::code::Code;
use crate::read::{Document, document};
use crate::report::Report;
use crate::yaml::{self, Span};

/// The settings of one engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `platform.environment`.
    pub environment: String,
    /// Values for `platform.config`, by key.
    pub config: BTreeMap<String, Json>,
    /// References of secrets that exist.
    pub secrets: BTreeSet<String>,
    /// Profiles with keys, for `apiKeyValidate:v1`.
    pub key_profiles: BTreeSet<String>,
    /// Profiles with an identity provider, for `jwtValidate:v1`.
    pub jwt_profiles: BTreeSet<String>,
    /// Whether these are the settings of the engine that will run the definition.
    pub deploys: bool,
    /// Limits on tags and attributes.
    pub metadata: MetadataLimits,
    /// How long a compensation may take before it is an incident, in milliseconds.
    pub compensation_ms: i64,
}

/// `kind: MetadataLimits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetadataLimits {
    /// Tags of a definition.
    pub definition_tags: usize,
    /// Tags of an instance, those of its definition included.
    pub instance_tags: usize,
    /// Characters of one tag.
    pub tag_chars: usize,
    /// Attributes of an instance.
    pub attributes: usize,
    /// Characters of the name of an attribute.
    pub attribute_name_chars: usize,
    /// Characters of the value of an attribute.
    pub attribute_value_chars: usize,
    /// The deadline of runs whose definition declares none (`default_deadline` of the engine).
    pub default_max_duration_sec: Option<u64>,
    /// The upper bound of every deadline (`deadline_cap` of the engine).
    pub max_duration_upper_bound_sec: Option<u64>,
}

impl MetadataLimits {
    /// Reads a document of `kind: MetadataLimits`, or returns its problems.
    pub fn read(text: &str) -> Result<Self, Vec<Diagnostic>> {
        let documents = yaml::read(text);
        let (settings, limits) = (Settings::default(), Limits::default());
        let root = documents.roots.first().filter(|_| documents.problems.is_empty());
        let (read, mut report) = match root {
            Some(root) => document(root, &[], &settings, &limits),
            None => (None, Report::default()),
        };
        match read {
            Some(Document::Limits(limits)) if !report.has_errors() => Ok(limits),
            _ => {
                if !report.has_errors() {
                    report.error(Code::Limits, Span::WHOLE_DOCUMENT, "not a document of limits");
                }
                Err(report.finish())
            }
        }
    }
}

impl Default for MetadataLimits {
    fn default() -> Self {
        Self {
            definition_tags: 10,
            instance_tags: 16,
            tag_chars: 40,
            attributes: 16,
            attribute_name_chars: 32,
            attribute_value_chars: 256,
            default_max_duration_sec: None,
            max_duration_upper_bound_sec: None,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            environment: "local".to_owned(),
            config: BTreeMap::new(),
            secrets: BTreeSet::new(),
            key_profiles: BTreeSet::new(),
            jwt_profiles: BTreeSet::new(),
            deploys: false,
            metadata: MetadataLimits::default(),
            compensation_ms: 30 * 86_400_000,
        }
    }
}
