//! Variants are reproducible from their seed, cover every kind, and are legal.

use std::collections::BTreeSet;

use clap::ValueEnum as _;
use meantime_core::{Limits, Severity, Source};
use meantime_server::notations;

use super::*;

#[test]
fn a_seed_and_a_label_are_all_that_a_variant_depends_on() {
    let all = variants(5, 48, &[]);
    assert_eq!(all, variants(5, 48, &[]));
    assert_ne!(all, variants(6, 48, &[]));
    let mappers: Vec<_> = all.into_iter().filter(|it| it.kind == Kind::Mapper).collect();
    assert_eq!(mappers, variants(5, mappers.len(), &[Kind::Mapper]));
}

#[test]
fn there_is_something_of_every_kind() {
    let kinds: BTreeSet<_> = variants(1, 12, &[]).iter().map(|it| it.kind).collect();
    assert_eq!(kinds.len(), Kind::value_variants().len());
}

#[test]
fn apis_are_slow_in_every_place_that_answers() {
    let titles: Vec<_> = variants(1, 40, &[Kind::Api]).into_iter().map(|it| it.title).collect();
    for place in ["predicates: ", "a status: ", "an envelope: ", "a read guard: "] {
        assert!(titles.iter().any(|it| it.contains(place)), "{place}: {titles:?}");
    }
}

/// A variant that cannot be deployed would measure nothing. A variant that exceeds a budget of the
/// engine is rejected at deploy with the code of that budget, which is fine.
#[test]
fn definitions_are_legal_or_too_large() {
    let notations = notations();
    for variant in variants(3, 360, &[]) {
        let Some(VariantDefinition { name, media_type, text }) = variant.definition else {
            continue;
        };
        let notation = match media_type {
            script::MEDIA_TYPE => "flow",
            journey::MEDIA_TYPE => "journey",
            _ => "bpmn",
        };
        let source = Source { name, text: text.into(), files: Vec::new() };
        let compiled = notations.compile(notation, &source, &Limits::default()).expect("known");
        let errors = compiled.diagnostics.iter().filter(|it| it.severity == Severity::Error);
        let errors: Vec<_> = errors.map(|it| format!("{}: {}", it.code, it.message)).collect();
        assert!(errors.is_empty(), "{}, {}: {errors:?}", variant.label, variant.title);
    }
}
