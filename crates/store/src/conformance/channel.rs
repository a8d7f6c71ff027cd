//! Channels: messages, signals and broadcasts are matched with subscriptions.

use meantime_core::{EffectKey, Event, InstanceId, Timestamp, Trigger};
use meantime_kernel::store::{
    Accept, ChannelKey, ConditionalWrite, InboxRow, MessageRow, SubscriptionRow, Unit, UnitResult,
    Write,
};

use super::bench::{Bench, NOW, at, ended, id, instance, json, start, turn};
use super::suite::declare;

declare!("channel":
    a_message_is_kept_for_a_later_subscription,
    a_message_goes_to_who_waits,
    waiters_are_served_in_order,
    messages_are_taken_in_order,
    publish_and_subscribe_of_one_plan_meet,
    names_and_keys_tell_channels_apart,
    an_expired_message_is_not_offered,
    a_message_without_time_to_live_is_not_kept,
    a_returned_message_takes_its_old_place,
    a_returned_message_goes_to_the_next_waiter,
    a_removed_subscription_gets_nothing,
    a_subscription_removed_in_a_plan_gets_nothing_in_it,
    a_message_taken_out_is_not_offered,
    a_message_with_a_known_id_is_dropped,
    a_message_id_is_forgotten_when_it_expires,
    the_next_waiter_is_found_behind_those_who_left,
    a_broadcast_reaches_everyone_who_waits_now,
    an_instance_that_waits_at_two_places_gets_a_broadcast_twice,
    a_broadcast_is_not_kept,
    signals_are_kept_for_their_instance,
    an_end_drops_the_signals_of_its_instance_only,
    a_message_starts_an_instance,
    a_message_start_has_one_live_instance_per_key,
    the_next_message_is_offered_when_the_key_is_free,
    a_message_prefers_who_waits_to_a_start,
    a_message_goes_to_who_waits_longest_of_each_definition,
    each_definition_has_a_message_once,
    a_message_that_is_returned_is_for_its_definition_alone,
    a_message_starts_every_definition_that_begins_with_it,
    the_oldest_message_of_all_starts_is_offered_first,
    a_broadcast_starts_every_definition_that_listens,
);

fn paid(seq: u64, expires_at: Option<Timestamp>) -> MessageRow {
    let channel = ChannelKey::message("paid", "k");
    let payload = json(&format!("{{\"n\":{seq}}}"));
    MessageRow { channel, seq, payload, expires_at, had: Vec::new() }
}

fn publish_row(message: MessageRow) -> ConditionalWrite {
    let accept = Accept { ids: vec![id(500 + message.seq)], seq: 1_000 + message.seq };
    ConditionalWrite::Publish { message, id: None, accept }
}

fn publish(seq: u64) -> ConditionalWrite {
    publish_row(paid(seq, Some(at(100))))
}

fn key(number: u64) -> EffectKey {
    id(number).effect(1, 0)
}

/// The definition of the waiting instances, unless a case needs several.
const WAITER: &str = "waiter";

fn wait_of(definition: &str, channel: ChannelKey, number: u64, seq: u64) -> ConditionalWrite {
    let definition = definition.to_owned();
    let subscription = SubscriptionRow { channel, seq, key: key(number), definition };
    ConditionalWrite::Subscribe { subscription, seq: 2_000 + seq }
}

fn wait_on(channel: ChannelKey, number: u64, seq: u64) -> ConditionalWrite {
    wait_of(WAITER, channel, number, seq)
}

fn subscribe_of(definition: &str, number: u64, seq: u64) -> ConditionalWrite {
    wait_of(definition, ChannelKey::message("paid", "k"), number, seq)
}

fn put_back(message: MessageRow, seq: u64) -> ConditionalWrite {
    let (definition, accept) = (WAITER.to_owned(), accept_at(seq));
    ConditionalWrite::Return { message, definition, waiter: None, accept }
}

fn subscribe(number: u64, seq: u64) -> ConditionalWrite {
    wait_on(ChannelKey::message("paid", "k"), number, seq)
}

/// Numbers of the messages in an inbox.
fn got(bench: &Bench<'_>, number: u64) -> Vec<u64> {
    let origin = |row: &InboxRow| row.origin.as_ref().map_or(0, |origin| origin.seq);
    bench.inbox(id(number)).iter().map(origin).collect()
}

fn a_message_is_kept_for_a_later_subscription(bench: &Bench<'_>) {
    let done = bench.apply(publish(5));
    assert!(done.kept && done.woken.is_empty() && done.accepted.is_empty(), "{done:?}");
    assert_eq!(bench.apply(subscribe(1, 6)).woken, [id(1)]);
    let inbox = bench.inbox(id(1));
    let event = Event::Message { key: key(1), name: "paid".to_owned(), payload: json("{\"n\":5}") };
    assert_eq!((&inbox[0].event, inbox[0].seq), (&event, 2_006));
    let had = vec![WAITER.to_owned()];
    assert_eq!(inbox[0].origin, Some(MessageRow { had, ..paid(5, Some(at(100))) }));
    // Its definition has received it already.
    assert_eq!(bench.apply(subscribe(2, 7)).woken, []);
}

fn a_message_goes_to_who_waits(bench: &Bench<'_>) {
    assert_eq!(bench.apply(subscribe(1, 5)).woken, []);
    let done = bench.apply(publish(6));
    assert_eq!((done.woken, done.kept), (vec![id(1)], false));
    assert_eq!(got(bench, 1), [6]);
    // The subscription was used up.
    assert!(bench.apply(publish(7)).kept);
}

fn waiters_are_served_in_order(bench: &Bench<'_>) {
    bench.apply(subscribe(2, 5));
    bench.apply(subscribe(1, 6));
    assert_eq!(bench.apply(publish(7)).woken, [id(2)]);
    assert_eq!(bench.apply(publish(8)).woken, [id(1)]);
}

fn messages_are_taken_in_order(bench: &Bench<'_>) {
    bench.apply(publish(5));
    bench.apply(publish(6));
    bench.apply(subscribe(1, 7));
    bench.apply(subscribe(2, 8));
    assert_eq!((got(bench, 1), got(bench, 2)), (vec![5], vec![6]));
}

fn publish_and_subscribe_of_one_plan_meet(bench: &Bench<'_>) {
    let unit = |apply| Unit { conditional_writes: vec![apply], ..Unit::default() };
    bench.commit(vec![unit(subscribe(1, 5)), unit(publish(6))]);
    bench.commit(vec![unit(publish(7)), unit(subscribe(2, 8))]);
    assert_eq!((got(bench, 1), got(bench, 2)), (vec![6], vec![7]));
    assert!(bench.apply(publish(9)).kept);
}

fn names_and_keys_tell_channels_apart(bench: &Bench<'_>) {
    bench.apply(wait_on(ChannelKey::message("paid", "other"), 1, 5));
    bench.apply(wait_on(ChannelKey::message("other", "k"), 2, 6));
    bench.apply(wait_on(ChannelKey::broadcast("paid"), 3, 7));
    assert!(bench.apply(publish(8)).kept);
}

fn an_expired_message_is_not_offered(bench: &Bench<'_>) {
    bench.apply(publish_row(paid(5, Some(at(10)))));
    bench.apply(publish_row(paid(6, None)));
    let subscribe = Unit { conditional_writes: vec![subscribe(1, 7)], ..Unit::default() };
    bench.done_at(at(10), subscribe);
    assert_eq!(got(bench, 1), [6]);
}

fn a_message_without_time_to_live_is_not_kept(bench: &Bench<'_>) {
    assert!(!bench.apply(publish_row(paid(5, Some(NOW)))).kept);
    assert_eq!(bench.apply(subscribe(1, 6)).woken, []);
}

fn a_returned_message_takes_its_old_place(bench: &Bench<'_>) {
    bench.apply(publish(6));
    bench.apply(put_back(paid(5, None), 3_000));
    bench.apply(subscribe(1, 7));
    assert_eq!(got(bench, 1), [5]);
    bench.apply(put_back(paid(5, Some(NOW)), 3_001));
    bench.apply(subscribe(2, 8));
    assert_eq!(got(bench, 2), [6]);
}

fn a_returned_message_goes_to_the_next_waiter(bench: &Bench<'_>) {
    bench.apply(subscribe(1, 6));
    bench.apply(put_back(paid(5, None), 3_000));
    assert_eq!(bench.inbox(id(1))[0].seq, 3_000);
}

fn a_removed_subscription_gets_nothing(bench: &Bench<'_>) {
    bench.apply(subscribe(1, 5));
    let channel = ChannelKey::message("paid", "k");
    bench.write(vec![Write::DeleteSubscription { channel, seq: 5 }]);
    assert!(bench.apply(publish(6)).kept);
}

fn a_subscription_removed_in_a_plan_gets_nothing_in_it(bench: &Bench<'_>) {
    bench.apply(subscribe(1, 5));
    let channel = ChannelKey::message("paid", "k");
    let writes = vec![Write::DeleteSubscription { channel, seq: 5 }];
    let leave = Unit { writes, ..Unit::default() };
    let publish = Unit { conditional_writes: vec![publish(6)], ..Unit::default() };
    bench.commit(vec![leave, publish]);
    assert_eq!(bench.inbox(id(1)), []);
    bench.apply(subscribe(2, 7));
    assert_eq!(got(bench, 2), [6]);
}

fn a_message_taken_out_is_not_offered(bench: &Bench<'_>) {
    bench.apply(publish(5));
    let channel = ChannelKey::message("paid", "k");
    let writes = vec![Write::DeleteMessage { channel, seq: 5 }];
    let subscribe = Unit { conditional_writes: vec![subscribe(1, 6)], ..Unit::default() };
    bench.commit(vec![Unit { writes, ..Unit::default() }, subscribe]);
    assert_eq!(bench.inbox(id(1)), []);
}

fn identified(seq: u64) -> Unit {
    let accept = Accept { ids: Vec::new(), seq: 1_000 + seq };
    let id = Some(("m-1".to_owned(), at(100)));
    let apply = ConditionalWrite::Publish { message: paid(seq, Some(at(900))), id, accept };
    Unit { conditional_writes: vec![apply], ..Unit::default() }
}

fn a_message_with_a_known_id_is_dropped(bench: &Bench<'_>) {
    let results = bench.commit(vec![identified(5), identified(6)]);
    let is_duplicate = |result: &UnitResult| match result {
        UnitResult::Done(done) => done.duplicate && !done.kept,
        _ => false,
    };
    assert_eq!([is_duplicate(&results[0]), is_duplicate(&results[1])], [false, true]);
    assert!(bench.done_at(at(99), identified(7)).duplicate);
    bench.apply(subscribe(1, 8));
    bench.apply(subscribe(2, 9));
    assert_eq!((got(bench, 1), got(bench, 2)), (vec![5], vec![]));
}

fn a_message_id_is_forgotten_when_it_expires(bench: &Bench<'_>) {
    bench.done(identified(5));
    assert!(!bench.done_at(at(100), identified(6)).duplicate);
}

fn the_next_waiter_is_found_behind_those_who_left(bench: &Bench<'_>) {
    for number in 1..=3 {
        bench.apply(subscribe(number, 10 + number));
    }
    let leave = |seq| Write::DeleteSubscription { channel: ChannelKey::message("paid", "k"), seq };
    let writes = vec![leave(11), leave(12)];
    let publish = Unit { conditional_writes: vec![publish(20)], ..Unit::default() };
    bench.commit(vec![Unit { writes, ..Unit::default() }, publish]);
    assert_eq!(got(bench, 3), [20]);
}

fn broadcast(ids: Vec<InstanceId>) -> ConditionalWrite {
    let accept = Accept { ids, seq: 4_000 };
    ConditionalWrite::Broadcast {
        channel: ChannelKey::broadcast("stop"),
        payload: json("1"),
        accept,
    }
}

fn a_broadcast_reaches_everyone_who_waits_now(bench: &Bench<'_>) {
    for number in 1..=3 {
        bench.apply(wait_on(ChannelKey::broadcast("stop"), number, 10 + number));
    }
    assert_eq!(bench.apply(broadcast(Vec::new())).woken, [id(1), id(2), id(3)]);
    let inbox = bench.inbox(id(2));
    let event = Event::Signal { key: key(2), name: "stop".to_owned(), payload: json("1") };
    assert_eq!((&inbox[0].event, &inbox[0].origin), (&event, &None));
    assert_eq!(bench.apply(broadcast(Vec::new())).woken, []);
}

fn an_instance_that_waits_at_two_places_gets_a_broadcast_twice(bench: &Bench<'_>) {
    for (ids, first) in [(Vec::new(), 10), (vec![id(900)], 20), (vec![id(901), id(902)], 30)] {
        for (ordinal, seq) in (0..3).zip(first..) {
            let channel = ChannelKey::broadcast("stop");
            let (key, definition) = (id(1).effect(first, ordinal), WAITER.to_owned());
            let subscription = SubscriptionRow { channel, seq, key, definition };
            bench.apply(ConditionalWrite::Subscribe { subscription, seq: 0 });
        }
        bench.apply(broadcast(ids));
        let inbox = bench.inbox(id(1));
        let mut keys: Vec<_> = inbox.iter().filter_map(|row| row.event.key()).collect();
        keys.sort_unstable();
        assert_eq!(keys, [0, 1, 2].map(|ordinal| id(1).effect(first, ordinal)));
        let consumed = |row: &InboxRow| Write::DeleteInbox { instance: id(1), seq: row.seq };
        bench.write(inbox.iter().map(consumed).collect());
    }
}

fn a_broadcast_is_not_kept(bench: &Bench<'_>) {
    assert!(!bench.apply(broadcast(Vec::new())).kept);
    assert_eq!(bench.apply(wait_on(ChannelKey::broadcast("stop"), 1, 5)).woken, []);
}

fn signal(number: u64, seq: u64) -> ConditionalWrite {
    let channel = ChannelKey::signal(id(number), "go");
    publish_row(MessageRow { channel, payload: json("2"), ..paid(seq, None) })
}

fn signals_are_kept_for_their_instance(bench: &Bench<'_>) {
    assert!(bench.apply(signal(1, 5)).kept);
    let go = |number, seq| wait_on(ChannelKey::signal(id(number), "go"), number, seq);
    assert_eq!(bench.apply(go(2, 6)).woken, []);
    assert_eq!(bench.apply(go(1, 7)).woken, [id(1)]);
    let event = Event::Signal { key: key(1), name: "go".to_owned(), payload: json("2") };
    assert_eq!(bench.inbox(id(1))[0].event, event);
    // Only the instance itself can wait for its signals: its open list says so, not a row.
    bench.apply(go(1, 8));
    assert!(bench.apply(signal(1, 9)).kept);
}

fn an_end_drops_the_signals_of_its_instance_only(bench: &Bench<'_>) {
    bench.apply(signal(1, 5));
    bench.apply(signal(2, 6));
    bench.write(vec![Write::ClearSignals { instance: id(1) }]);
    let go = |number, seq| wait_on(ChannelKey::signal(id(number), "go"), number, seq);
    assert_eq!(bench.apply(go(1, 7)).woken, []);
    assert_eq!(bench.apply(go(2, 8)).woken, [id(2)]);
}

fn on_message(name: &str) -> Vec<Trigger> {
    vec![Trigger::Message { name: name.to_owned(), element: "begin".to_owned() }]
}

fn a_message_starts_an_instance(bench: &Bench<'_>) {
    let definition = bench.deploy("order", "v1", on_message("paid"));
    let done = bench.apply(publish(5));
    assert_eq!((&done.accepted[..], done.kept), (&[id(505)][..], false));
    let row = bench.instance(id(505)).expect("it was accepted");
    assert_eq!((row.definition, row.key.as_deref()), (definition, Some("k")));
    assert_eq!(bench.recover().ready, [id(505)]);
}

fn a_message_start_has_one_live_instance_per_key(bench: &Bench<'_>) {
    bench.deploy("order", "v1", on_message("paid"));
    let unit = |seq| Unit { conditional_writes: vec![publish(seq)], ..Unit::default() };
    bench.commit(vec![unit(5), unit(6)]);
    assert!(bench.apply(publish(7)).kept);
    assert_eq!(bench.instance(id(506)), None);
    let keyless = |seq| {
        let channel = ChannelKey::message("paid", "");
        publish_row(MessageRow { channel, ..paid(seq, None) })
    };
    assert_eq!(bench.apply(keyless(8)).accepted, [id(508)]);
    assert_eq!(bench.apply(keyless(9)).accepted, [id(509)]);
}

fn the_next_message_is_offered_when_the_key_is_free(bench: &Bench<'_>) {
    bench.deploy("order", "v1", on_message("paid"));
    bench.apply(publish(5));
    bench.apply(publish(6));
    bench.apply(publish(7));
    let offer = |number| {
        let accept = Accept { ids: vec![id(number)], seq: 0 };
        let channels = vec![ChannelKey::message("paid", "k")];
        ConditionalWrite::Offer { channels, definition: "order".to_owned(), accept }
    };
    // The instance is still live: nothing happens.
    assert_eq!(bench.apply(offer(600)).accepted, []);
    let holder = bench.instance(id(505)).expect("it was started");
    let end = Unit { conditional_writes: vec![offer(601)], ..turn(&ended(&holder)) };
    assert_eq!(bench.done(end).accepted, [id(601)]);
    let second = bench.instance(id(601)).expect("it was accepted");
    assert_eq!(second.meta.started_by.map(|audit| audit.key).as_deref(), Some("k"));
    // The definition has received the first two, and the third waits.
    bench.apply(subscribe_of("order", 1, 50));
    assert_eq!(got(bench, 1), [7]);
}

fn a_message_prefers_who_waits_to_a_start(bench: &Bench<'_>) {
    bench.deploy("order", "v1", on_message("paid"));
    bench.done(start(&instance(1)));
    bench.apply(subscribe_of("order", 1, 5));
    let done = bench.apply(publish(6));
    assert_eq!((done.woken, done.accepted), (vec![id(1)], vec![]));
}

/// One message is delivered once per definition, to the oldest subscription.
fn a_message_goes_to_who_waits_longest_of_each_definition(bench: &Bench<'_>) {
    for (definition, number) in [("a", 1), ("a", 2), ("b", 3), ("b", 4), ("c", 5)] {
        bench.apply(subscribe_of(definition, number, 10 + number));
    }
    assert_eq!(bench.apply(publish(20)).woken, [id(1), id(3), id(5)]);
    assert_eq!(bench.apply(publish(21)).woken, [id(2), id(4)]);
    assert_eq!((got(bench, 3), got(bench, 4)), (vec![20], vec![21]));
}

/// Also those that come later, as long as it is kept.
fn each_definition_has_a_message_once(bench: &Bench<'_>) {
    bench.apply(subscribe_of("a", 1, 5));
    bench.apply(publish(6));
    assert_eq!(bench.apply(subscribe_of("a", 2, 7)).woken, []);
    assert_eq!(bench.apply(subscribe_of("b", 3, 8)).woken, [id(3)]);
    assert_eq!(bench.apply(subscribe_of("b", 4, 9)).woken, []);
    assert_eq!((got(bench, 1), got(bench, 3)), (vec![6], vec![6]));
    // Definitions that have received the first get the second.
    assert_eq!(bench.apply(publish(10)).woken, [id(2), id(4)]);
    assert_eq!(bench.apply(subscribe_of("c", 5, 11)).woken, [id(5)]);
    assert_eq!(got(bench, 5), [6]);
}

/// A message that an instance did not take is offered to its definition again, not to others.
fn a_message_that_is_returned_is_for_its_definition_alone(bench: &Bench<'_>) {
    bench.apply(subscribe_of(WAITER, 1, 5));
    bench.apply(subscribe_of("b", 2, 6));
    assert_eq!(bench.apply(publish(7)).woken, [id(1), id(2)]);
    bench.apply(put_back(paid(7, Some(at(100))), 3_000));
    assert_eq!(bench.apply(subscribe_of("b", 3, 8)).woken, []);
    assert_eq!(bench.apply(subscribe_of(WAITER, 4, 9)).woken, [id(4)]);
    assert_eq!(got(bench, 4), [7]);
}

/// Every definition that begins with it, unless its key is taken.
fn a_message_starts_every_definition_that_begins_with_it(bench: &Bench<'_>) {
    let one = bench.deploy("one", "v1", on_message("paid"));
    let two = bench.deploy("two", "v1", on_message("paid"));
    let publish = |seq: u64| {
        let accept = Accept { ids: vec![id(500 + seq), id(600 + seq)], seq: 1_000 + seq };
        ConditionalWrite::Publish { message: paid(seq, Some(at(100))), id: None, accept }
    };
    assert_eq!(bench.apply(publish(5)).accepted, [id(505), id(605)]);
    let definition = |number| bench.instance(id(number)).map(|row| row.definition);
    assert_eq!((definition(505), definition(605)), (Some(one), Some(two)));
    bench.apply(publish(6));
    let end = |number, accept, name: &str| {
        let (channels, definition) = (vec![ChannelKey::message("paid", "k")], name.to_owned());
        let accept = Accept { ids: vec![id(accept)], seq: 0 };
        let offer = ConditionalWrite::Offer { channels, definition, accept };
        let holder = bench.instance(id(number)).expect("it was started");
        bench.done(Unit { conditional_writes: vec![offer], ..turn(&ended(&holder)) }).accepted
    };
    // The second message waits for each of them separately.
    assert_eq!(end(505, 700, "one"), [id(700)]);
    assert_eq!(end(700, 701, "one"), []);
    assert_eq!(end(605, 702, "two"), [id(702)]);
    assert_eq!((definition(700), definition(702)), (Some(one), Some(two)));
}

/// A message of a second start event is not overtaken by one of the first.
fn the_oldest_message_of_all_starts_is_offered_first(bench: &Bench<'_>) {
    let triggers = [on_message("paid"), on_message("asked")].concat();
    bench.deploy("order", "v1", triggers);
    bench.apply(publish(5));
    let asked = MessageRow { channel: ChannelKey::message("asked", "k"), ..paid(6, Some(at(100))) };
    assert!(bench.apply(publish_row(asked)).kept);
    assert!(bench.apply(publish(7)).kept);
    let channels = ["paid", "asked"].map(|name| ChannelKey::message(name, "k")).to_vec();
    let accept = Accept { ids: vec![id(700)], seq: 0 };
    let offer = ConditionalWrite::Offer { channels, definition: "order".to_owned(), accept };
    let holder = bench.instance(id(505)).expect("it was started");
    bench.done(Unit { conditional_writes: vec![offer], ..turn(&ended(&holder)) });
    let next = bench.instance(id(700)).expect("it was accepted");
    assert_eq!(next.meta.started_by.map(|audit| audit.name).as_deref(), Some("asked"));
}

fn a_broadcast_starts_every_definition_that_listens(bench: &Bench<'_>) {
    let stop = || vec![Trigger::Signal { name: "stop".to_owned(), element: "p".to_owned() }];
    let second = bench.deploy("b", "v1", stop());
    let first = bench.deploy("a", "v1", stop());
    bench.deploy("c", "v1", on_message("stop"));
    let done = bench.apply(broadcast(vec![id(700), id(701), id(702)]));
    assert_eq!(done.accepted, [id(700), id(701)]);
    let definition = |number| bench.instance(id(number)).map(|row| row.definition);
    assert_eq!((definition(700), definition(701)), (Some(first), Some(second)));
}

/// An inbox number, without ids for new instances.
fn accept_at(seq: u64) -> Accept {
    Accept { ids: Vec::new(), seq }
}
