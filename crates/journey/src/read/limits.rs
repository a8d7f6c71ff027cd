//! `kind: MetadataLimits` (rule 32): settings of the engine, written as a document.

use super::fields::MappingReader;
use super::reader::Reader;
use crate::code::Code;
use crate::settings::MetadataLimits;
use crate::yaml::Node;

impl Reader<'_> {
    pub(super) fn metadata_limits(
        &mut self,
        fields: &mut MappingReader<'_>,
    ) -> Option<MetadataLimits> {
        let code = Code::Limits;
        fields.get("metadata");
        let node = self.required(fields, "spec", code)?;
        let mut spec = self.open(node, "spec", code)?;
        let mut limits = MetadataLimits::default();
        if let Some(node) = spec.get("definitionTags") {
            let names = [("maxCount", &mut limits.definition_tags)];
            self.limit_group(node, "spec.definitionTags", names);
        }
        if let Some(node) = spec.get("instanceTags") {
            let names =
                [("maxCount", &mut limits.instance_tags), ("maxLength", &mut limits.tag_chars)];
            self.limit_group(node, "spec.instanceTags", names);
        }
        if let Some(node) = spec.get("tags") {
            let names = [
                ("maxDefinitionTags", &mut limits.definition_tags),
                ("maxInstanceTags", &mut limits.instance_tags),
                ("maxTagLength", &mut limits.tag_chars),
            ];
            self.limit_group(node, "spec.tags", names);
        }
        if let Some(node) = spec.get("attributes") {
            let names = [
                ("maxKeys", &mut limits.attributes),
                ("maxKeyLength", &mut limits.attribute_name_chars),
                ("maxValueLength", &mut limits.attribute_value_chars),
            ];
            self.limit_group(node, "spec.attributes", names);
        }
        if let Some(node) = spec.get("execution") {
            self.duration_limits(node, &mut limits);
        }
        spec.finish(&mut self.report);
        Some(limits)
    }

    fn limit_group<const N: usize>(
        &mut self,
        node: &Node,
        what: &str,
        names: [(&'static str, &mut usize); N],
    ) {
        let Some(mut fields) = self.open(node, what, Code::Limits) else { return };
        for (key, into) in names {
            let Some(node) = fields.get(key) else { continue };
            let number = self.integer(node, &fields.name(key), Code::Limits, 1);
            *into = number.and_then(|it| usize::try_from(it).ok()).unwrap_or(*into);
        }
        fields.finish(&mut self.report);
    }

    fn duration_limits(&mut self, node: &Node, limits: &mut MetadataLimits) {
        let code = Code::Limits;
        let Some(mut fields) = self.open(node, "spec.execution", code) else { return };
        let mut seconds = |reader: &mut Self, key: &'static str| {
            let node = fields.get(key)?;
            let seconds = reader.integer(node, &fields.name(key), code, 1)?;
            u64::try_from(seconds).ok()
        };
        let default = seconds(self, "defaultMaxDurationSec");
        let upper = seconds(self, "maxDurationUpperBoundSec");
        if default.zip(upper).is_some_and(|(default, upper)| default > upper) {
            let message = "`defaultMaxDurationSec` is larger than `maxDurationUpperBoundSec`";
            self.report.warn(code, node.span, message);
        }
        fields.finish(&mut self.report);
        (limits.default_max_duration_sec, limits.max_duration_upper_bound_sec) = (default, upper);
    }
}
