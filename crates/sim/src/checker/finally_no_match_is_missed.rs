//! P16: a stored message and a subscription that matches it never exist at the same time.

use meantime_core::Channel;
use meantime_kernel::store::{ChannelKey, ChannelKind};

use super::run_record::RunRecord;
use super::violation::Findings;

pub(super) fn check(run: &RunRecord, findings: &mut Findings<'_>) {
    let Some(waiting) = &run.rows.waiting else { return };
    let now = run.rows.now;
    let fresh = waiting.messages.iter().filter(|it| it.expires_at.is_none_or(|at| at > now));
    for message in fresh {
        let waiter = match message.channel.kind {
            ChannelKind::Signal => waits_for_signal(run, &message.channel),
            _ => waiting
                .subscriptions
                .iter()
                .find(|it| it.channel == message.channel && !message.was_had_by(&it.definition))
                .map(|it| it.key),
        };
        if let Some(key) = waiter {
            let text = format!("{key} waits for {:?}, which is kept", message.channel);
            findings.add_for(key.instance, text);
        }
    }
}

fn waits_for_signal(run: &RunRecord, channel: &ChannelKey) -> Option<meantime_core::EffectKey> {
    run.rows.live().filter(|row| row.id.to_string() == channel.key).find_map(|row| {
        let waits = row.open.subscriptions.iter().find(
            |(_, open)| matches!(&open.channel, Channel::Signal { name } if *name == channel.name),
        );
        let is_answered = |key| {
            let waiting = run.rows.waiting.as_ref();
            let mut inbox = waiting.into_iter().flat_map(|it| &it.inbox);
            inbox.any(|it| it.event.key() == Some(key))
        };
        waits.map(|(key, _)| key.of(row.id)).filter(|key| !is_answered(*key))
    })
}
