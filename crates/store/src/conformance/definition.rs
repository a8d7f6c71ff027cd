//! Definitions: versions, triggers, retirement.

use meantime_core::{DefinitionId, SourceFile, Trigger};
use meantime_kernel::history::AuditInfo;
use meantime_kernel::store::{
    Accept, ChannelKey, ConditionalWrite, DefinitionFilter, DefinitionPause, DefinitionRow,
    MessageRow, Refusal, Unit, UnitResult,
};

use super::bench::{Bench, deploy, id, json};
use super::suite::declare;

declare!("definition":
    a_version_is_read_back_whole,
    the_same_source_is_the_same_version,
    a_changed_source_is_the_next_version,
    versions_of_one_plan_follow_each_other,
    names_have_their_own_versions,
    an_undeployed_version_cannot_be_undeployed_again,
    triggers_follow_the_latest_version,
    undeploying_arms_the_version_before,
    undeploying_an_old_version_changes_no_trigger,
    a_retired_version_can_be_deployed_again,
    lists_are_filtered_latest_first,
    a_pause_is_of_all_versions_also_of_later_ones,
    a_paused_definition_is_started_by_no_message,
    an_unknown_definition_cannot_be_paused,
);

fn start_on(name: &str) -> Vec<Trigger> {
    vec![Trigger::Message { name: name.to_owned(), element: "begin".to_owned() }]
}

fn undeploy(name: &str, version: u32) -> Unit {
    let apply =
        ConditionalWrite::Undeploy { name: name.to_owned(), version, accept: Accept::default() };
    Unit { conditional_writes: vec![apply], ..Unit::default() }
}

fn deployed(bench: &Bench<'_>, name: &str, source: &str) -> (DefinitionId, u32, bool) {
    bench.apply(deploy(name, source, Vec::new())).deployed[0]
}

/// Which definition a message starts.
fn started_by(bench: &Bench<'_>, name: &str, seq: u64) -> Option<DefinitionId> {
    let channel = ChannelKey::message(name, "");
    let expires_at = Some(super::bench::NOW);
    let message = MessageRow { channel, seq, payload: json("{}"), expires_at, had: Vec::new() };
    let accept = Accept { ids: vec![id(800 + seq)], seq };
    bench.apply(ConditionalWrite::Publish { message, id: None, accept });
    bench.instance(id(800 + seq)).map(|row| row.definition)
}

fn a_version_is_read_back_whole(bench: &Bench<'_>) {
    let ConditionalWrite::Deploy(mut new) = deploy("order", "päy\r\nline\n", start_on("paid"))
    else {
        panic!("a deploy is a deploy");
    };
    new.row.label = Some("1.0".to_owned());
    new.row.files = vec![SourceFile { name: "f".to_owned(), text: "t".to_owned() }];
    let expected = new.row.clone();
    let (id, version, is_new) = bench.apply(ConditionalWrite::Deploy(new)).deployed[0];
    assert_eq!((version, is_new), (1, true));
    let expected = DefinitionRow { id, version, ..expected };
    assert_eq!(bench.get(bench.store.definition(id)), Some(expected));
    assert_eq!(bench.get(bench.store.definition(DefinitionId(id.0 + 1))), None);
}

fn the_same_source_is_the_same_version(bench: &Bench<'_>) {
    let first = deployed(bench, "order", "v1");
    assert_eq!(deployed(bench, "order", "v1"), (first.0, 1, false));
}

fn a_changed_source_is_the_next_version(bench: &Bench<'_>) {
    let first = deployed(bench, "order", "v1");
    let second = deployed(bench, "order", "v2");
    assert!(second.0 > first.0 && second.1 == 2 && second.2, "{second:?}");
    // Only the latest version is compared: going back to an earlier content is a new version.
    assert_eq!(deployed(bench, "order", "v1").1, 3);
}

fn versions_of_one_plan_follow_each_other(bench: &Bench<'_>) {
    let conditional_writes = ["v1", "v2", "v2"].map(|source| deploy("order", source, Vec::new()));
    let done =
        bench.done(Unit { conditional_writes: conditional_writes.into(), ..Unit::default() });
    let versions: Vec<_> = done.deployed.iter().map(|it| (it.1, it.2)).collect();
    assert_eq!(versions, [(1, true), (2, true), (2, false)]);
}

fn names_have_their_own_versions(bench: &Bench<'_>) {
    deployed(bench, "order", "v1");
    assert_eq!(deployed(bench, "invoice", "v1").1, 1);
}

fn an_undeployed_version_cannot_be_undeployed_again(bench: &Bench<'_>) {
    let unknown = UnitResult::Refused(Refusal::UnknownDefinition);
    assert_eq!(bench.commit(vec![undeploy("order", 1)]), std::slice::from_ref(&unknown));
    let id = deployed(bench, "order", "v1").0;
    assert_eq!(bench.commit(vec![undeploy("order", 2)]), std::slice::from_ref(&unknown));
    bench.done(undeploy("order", 1));
    assert_eq!(bench.commit(vec![undeploy("order", 1)]), [unknown]);
    assert!(bench.get(bench.store.definition(id)).expect("it is kept").retired);
}

fn pause(name: &str, audit: Option<AuditInfo>) -> ConditionalWrite {
    let pause = audit.map(|audit| DefinitionPause { since: super::bench::NOW, audit });
    ConditionalWrite::PauseDefinition { name: name.to_owned(), pause }
}

fn ann() -> AuditInfo {
    AuditInfo { actor: "ann".to_owned(), reason: "ä bad\nday".to_owned() }
}

fn a_pause_is_of_all_versions_also_of_later_ones(bench: &Bench<'_>) {
    let other = bench.deploy("other", "v1", Vec::new());
    let first = bench.deploy("order", "v1", Vec::new());
    let second = bench.deploy("order", "v2", Vec::new());
    bench.apply(pause("order", Some(ann())));
    let third = bench.deploy("order", "v3", Vec::new());
    let paused = |id| bench.get(bench.store.definition(id)).expect("it is kept").paused;
    let expected = Some((super::bench::NOW, ann()));
    for id in [first, second, third] {
        assert_eq!(paused(id).map(|pause| (pause.since, pause.audit)), expected);
    }
    assert_eq!(paused(other), None);
    bench.apply(pause("order", None));
    assert_eq!([first, second, third].map(paused), [None, None, None]);
}

fn a_paused_definition_is_started_by_no_message(bench: &Bench<'_>) {
    let order = bench.deploy("order", "v1", start_on("paid"));
    bench.apply(pause("order", Some(ann())));
    assert_eq!(started_by(bench, "paid", 1), None);
    bench.apply(pause("order", None));
    assert_eq!(started_by(bench, "paid", 2), Some(order));
}

fn an_unknown_definition_cannot_be_paused(bench: &Bench<'_>) {
    let unit = Unit { conditional_writes: vec![pause("order", Some(ann()))], ..Unit::default() };
    assert_eq!(bench.commit(vec![unit]), [UnitResult::Refused(Refusal::UnknownDefinition)]);
}

fn triggers_follow_the_latest_version(bench: &Bench<'_>) {
    bench.deploy("order", "v1", start_on("paid"));
    let second = bench.deploy("order", "v2", start_on("billed"));
    assert_eq!(started_by(bench, "paid", 1), None);
    assert_eq!(started_by(bench, "billed", 2), Some(second));
}

fn undeploying_arms_the_version_before(bench: &Bench<'_>) {
    let first = bench.deploy("order", "v1", start_on("paid"));
    bench.deploy("order", "v2", start_on("paid"));
    bench.done(undeploy("order", 2));
    assert_eq!(started_by(bench, "paid", 1), Some(first));
    bench.done(undeploy("order", 1));
    assert_eq!(started_by(bench, "paid", 2), None);
}

fn undeploying_an_old_version_changes_no_trigger(bench: &Bench<'_>) {
    bench.deploy("order", "v1", start_on("paid"));
    let second = bench.deploy("order", "v2", start_on("paid"));
    bench.done(undeploy("order", 1));
    assert_eq!(started_by(bench, "paid", 1), Some(second));
}

fn a_retired_version_can_be_deployed_again(bench: &Bench<'_>) {
    deployed(bench, "order", "v1");
    bench.done(undeploy("order", 1));
    let (_, version, is_new) = deployed(bench, "order", "v1");
    assert_eq!((version, is_new), (2, true));
}

fn lists_are_filtered_latest_first(bench: &Bench<'_>) {
    for (name, source) in [("a", "1"), ("b", "1"), ("a", "2"), ("a", "3")] {
        deployed(bench, name, source);
    }
    bench.done(undeploy("a", 3));
    let list = |filter| -> Vec<(String, u32)> {
        let rows = bench.get(bench.store.definitions(filter));
        rows.into_iter().map(|row| (row.name, row.version)).collect()
    };
    let named = |name: &str, version: u32| (name.to_owned(), version);
    let all = DefinitionFilter::default;
    let rows = [named("a", 3), named("a", 2), named("b", 1), named("a", 1)];
    assert_eq!(list(all()), rows);
    let name = Some("a".to_owned());
    let of_name = DefinitionFilter { name: name.clone(), ..all() };
    assert_eq!(list(of_name), [named("a", 3), named("a", 2), named("a", 1)]);
    let one = DefinitionFilter { name, version: Some(2), ..all() };
    assert_eq!(list(one), [named("a", 2)]);
    let latest = DefinitionFilter { latest: true, ..all() };
    assert_eq!(list(latest), [named("a", 2), named("b", 1)]);
}
