//! Cancels losers, unless another pending await contains them (F2).

use super::leaf::{Awaitable, AwaitableState, Kind};
use crate::host::EffectKind;
use crate::vm::{AwaitableRef, Machine, Value};

impl Machine<'_> {
    /// Cancels the members of a decided combinator that have not ended.
    pub(super) fn cancel_losers(&mut self, decided: AwaitableRef) {
        let mut todo = vec![decided];
        while let Some(over) = todo.pop() {
            for member in self.pending_members(over) {
                if self.is_wanted(member, over) {
                    continue;
                }
                self.cancel(member);
                todo.push(member);
            }
        }
    }

    fn pending_members(&self, of: AwaitableRef) -> Vec<AwaitableRef> {
        let Some(Kind::Combinator(combinator)) = self.heap.awaitables.get(of).map(|it| &it.kind)
        else {
            return Vec::new();
        };
        let is_pending =
            |at: &AwaitableRef| self.heap.awaitables.get(*at).is_some_and(Awaitable::is_pending);
        let members = combinator.members.iter().filter_map(|member| match member {
            Value::Awaitable(at) => Some(*at),
            _ => None,
        });
        members.filter(is_pending).collect()
    }

    /// Whether the script waits for it, or another pending combinator contains it. What an async
    /// function does is not cancelled from outside.
    fn is_wanted(&self, member: AwaitableRef, except: AwaitableRef) -> bool {
        let Some(awaitable) = self.heap.awaitables.get(member) else { return false };
        let is_live = |parent: &AwaitableRef| {
            *parent != except
                && self.heap.awaitables.get(*parent).is_some_and(Awaitable::is_pending)
        };
        matches!(awaitable.kind, Kind::Promise(_))
            || awaitable.reactions.iter().any(|it| it.is_live(&self.heap))
            || awaitable.parents.iter().any(is_live)
    }

    fn cancel(&mut self, at: AwaitableRef) {
        self.spend(1);
        let Some(awaitable) = self.heap.awaitables.get_mut(at) else { return };
        awaitable.state = AwaitableState::Cancelled;
        awaitable.parents.clear();
        awaitable.reactions.clear();
        let Kind::Leaf(leaf) = &awaitable.kind else { return };
        self.cancellations.push_back((leaf.what, leaf.step));
        if let Some(timer) = leaf.timer {
            self.cancellations.push_back((EffectKind::Timer, timer));
        }
    }

    /// Cancels timers and waits that no reachable value can await; tasks and children keep running.
    pub(crate) fn cancel_unreachable(&mut self, reached: &[bool]) {
        let mut gone = Vec::new();
        for (at, awaitable) in self.heap.awaitables.iter::<AwaitableRef>() {
            let is_reached = reached.get(at.0 as usize).copied().unwrap_or(false);
            if let Kind::Leaf(leaf) = &awaitable.kind
                && awaitable.is_pending()
                && !is_reached
                && matches!(leaf.what, EffectKind::Timer | EffectKind::Signal)
            {
                gone.push((leaf.what, leaf.step));
                gone.extend(leaf.timer.map(|timer| (EffectKind::Timer, timer)));
            }
        }
        self.cancellations.extend(gone);
    }
}
