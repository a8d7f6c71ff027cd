//! Schedules that begin in the first centuries and catch up with every occurrence.

use serde_json::json;

use super::super::connection::json_request;
use super::script;
use super::seeded_choice::SeededChoice;
use super::variant::{Kind, PoisonVariant, VariantDefinition};

pub(super) fn variant(choice: &mut SeededChoice, label: String, name: String) -> PoisonVariant {
    let year = if choice.coin_flip() { 1 } else { choice.between(1, 1_899) };
    let rule = *choice.one_of(&["PT1M", "PT61S", "PT1H", "P1D", "P1M", "* * * * *", "*/7 * * * *"]);
    let word = if rule.starts_with('P') { "interval" } else { "cron" };
    let zone = *choice.one_of(&["UTC", "UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"]);
    let overlap = *choice.one_of(&["skip", "allow"]);
    let clients = choice.between(1, 8);
    let request = |subject: usize| {
        let body = json!({
            "definition": name,
            word: rule,
            "startAt": format!("{year:04}-01-01T00:00:00Z"),
            "zone": zone,
            "catchUp": "all",
            "overlap": overlap,
            "subject": format!("subject-{subject}"),
        });
        json_request("/schedules", &body.to_string())
    };
    let requests = (0..clients).map(request).collect();
    let text = if choice.coin_flip() { "return 1\n" } else { "await Task.delay(1)\n" }.to_owned();
    PoisonVariant {
        kind: Kind::Schedule,
        label,
        title: format!("{clients} schedules {rule:?} since the year {year}, {zone}, {overlap}"),
        definition: Some(VariantDefinition { name, media_type: script::MEDIA_TYPE, text }),
        requests,
        reads_journey: false,
        clients,
        at_most: clients,
    }
}
