//! One definition or request that could disturb others, drawn from a seed.

use clap::ValueEnum as _;
use meantime_kernel::random::{Entropy as _, SeededEntropy};

use super::super::connection::json_request;
use super::seeded_choice::SeededChoice;
use super::{api, fan_out, feel, format, mapper, regex, request, schedule, schema, script};

/// The kinds of poison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Kind {
    /// JSON schemas with many paths, many items or costly patterns
    Schema,
    /// `DataWeave` mappers that loop, sort, recurse and join
    Mapper,
    /// Regular expressions with nested quantifiers on long texts
    Regex,
    /// Formats of numbers and dates with very long patterns
    Format,
    /// Scripts that never end
    Loop,
    /// Scripts that repeatedly call costly functions on large values
    Sort,
    /// Children, tasks and timers by the thousand; definitions that start themselves
    FanOut,
    /// FEEL loops within loops
    Feel,
    /// Schedules that begin in the first centuries and catch up with every occurrence
    Schedule,
    /// Sources of many megabytes
    Source,
    /// Long lists, asked for by several clients
    List,
    /// Statuses, predicates and envelopes of APIs, and read guards
    Api,
}

/// One definition or request that could disturb others.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) struct PoisonVariant {
    pub(in super::super) kind: Kind,
    /// The name in the report: kind and number.
    pub(in super::super) label: String,
    /// A short description.
    pub(in super::super) title: String,
    /// The definition that is deployed, if there is one.
    pub(in super::super) definition: Option<VariantDefinition>,
    /// The requests that clients send in turn, repeated from the beginning.
    pub(in super::super) requests: Vec<Vec<u8>>,
    /// Whether the requests start journeys, and each client reads the status of what it started.
    pub(in super::super) reads_journey: bool,
    /// How many clients there are, each on its own connection.
    pub(in super::super) clients: usize,
    /// How many requests they send in total.
    pub(in super::super) at_most: usize,
}

/// A definition as it is deployed to a server.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) struct VariantDefinition {
    pub(in super::super) name: String,
    pub(in super::super) media_type: &'static str,
    pub(in super::super) text: String,
}

/// A definition with the input that makes it costly.
pub(super) struct PoisonDefinition {
    pub(super) title: String,
    pub(super) media_type: &'static str,
    pub(super) text: String,
    pub(super) input: serde_json::Value,
}

/// `count` variants in total, alternating between the kinds; all kinds if none is named.
pub(in super::super) fn variants(seed: u64, count: usize, kinds: &[Kind]) -> Vec<PoisonVariant> {
    let kinds = if kinds.is_empty() { Kind::value_variants() } else { kinds };
    let numbers = (0..).flat_map(|number| kinds.iter().map(move |kind| (*kind, number)));
    numbers.take(count).map(|(kind, number)| variant(seed, kind, number)).collect()
}

fn variant(seed: u64, kind: Kind, number: usize) -> PoisonVariant {
    let word = kind.to_possible_value().map(|it| it.get_name().to_owned()).unwrap_or_default();
    let label = format!("{word}-{number}");
    let name = format!("poison-{label}");
    let mut choice = SeededChoice::new(variant_seed(seed, &label));
    let choice = &mut choice;
    match kind {
        Kind::Schema => started(kind, label, schema::draft(choice, &name), name, choice),
        Kind::Mapper => started(kind, label, mapper::draft(choice, &name), name, choice),
        Kind::Regex => started(kind, label, regex::draft(choice, &name), name, choice),
        Kind::Format => started(kind, label, format::draft(choice, &name), name, choice),
        Kind::Loop => started(kind, label, script::endless(choice, &name), name, choice),
        Kind::Sort => started(kind, label, script::costly(choice, &name), name, choice),
        Kind::Feel => started(kind, label, feel::draft(choice, &name), name, choice),
        Kind::FanOut => {
            let variant = started(kind, label, fan_out::draft(choice, &name), name, choice);
            // A fan-out multiplies its own load, so a request per client is enough.
            let clients = choice.between(1, 2);
            PoisonVariant { clients, at_most: clients, ..variant }
        }
        Kind::Schedule => schedule::variant(choice, label, name),
        Kind::Source => request::sources(choice, label, &name),
        Kind::List => request::lists(choice, label),
        Kind::Api => api::variant(choice, label, name),
    }
}

/// A variant whose clients start instances of a definition.
fn started(
    kind: Kind,
    label: String,
    draft: PoisonDefinition,
    name: String,
    choice: &mut SeededChoice,
) -> PoisonVariant {
    let PoisonDefinition { title, media_type, text, input } = draft;
    let body = serde_json::json!({ "definition": name, "input": input }).to_string();
    PoisonVariant {
        kind,
        label,
        title,
        definition: Some(VariantDefinition { name, media_type, text }),
        requests: vec![json_request("/instances", &body)],
        reads_journey: false,
        clients: *choice.one_of(&[2, 4, 8, 16]),
        at_most: 200,
    }
}

/// Derives a separate seed for each variant.
fn variant_seed(seed: u64, label: &str) -> u64 {
    label
        .bytes()
        .fold(seed, |variant_seed, byte| SeededEntropy::new(variant_seed ^ u64::from(byte)).next())
}
