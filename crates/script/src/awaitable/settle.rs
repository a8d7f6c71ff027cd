//! Settling: an event settles a leaf, and then the combinators that depend on it.

use meantime_core::EffectKey;

use super::combine::{Combinator, CombinatorMode};
use super::leaf::{AwaitableState, Kind, LocalEffectKey};
use crate::host::{EffectKind, Settlement};
use crate::vm::{AwaitableRef, Machine, Record, Value, VmResult};

/// How a member ended.
pub(super) enum AwaitableResult {
    Done(Value),
    Failed(Value),
}

impl Machine<'_> {
    /// Settles the awaitable of an effect. False if it is stale: no longer pending.
    pub(crate) fn settle(&mut self, key: EffectKey, with: Settlement) -> VmResult<bool> {
        let step = LocalEffectKey::of(key);
        // Stale: the effect was settled or cancelled before, so its key is no longer registered.
        // Nothing may change, or one effect would end twice.
        let Some((at, what, timer)) = self.pending_leaf(step) else { return Ok(false) };
        let timed_out = timer == Some(step);
        if timed_out {
            // The timeout won: unsubscribes, so that a later signal stays in its channel for the
            // next wait.
            self.cancellations.push_back((EffectKind::Signal, self.leaf_step(at)));
        } else if let Some(timer) = timer {
            self.cancellations.push_back((EffectKind::Timer, timer));
        }
        let state = match with {
            Settlement::Done(_) if timed_out => {
                let text = format!("no signal came in time ({})", self.leaf_name(at));
                let error = self.engine_error("SignalTimeout", "SIGNAL_TIMEOUT", &text, at);
                AwaitableState::Failed(error)
            }
            Settlement::Done(_) if what == EffectKind::Timer => AwaitableState::Done(Value::Null),
            Settlement::Done(json) => AwaitableState::Raw(json),
            Settlement::Failed { name, code, message, data } => {
                let error = self.engine_error(name, &code, &message, at);
                if let (Some(data), Value::Record(record)) = (data, &error) {
                    let data = self.read_json(&data)?;
                    if let Some(record) = self.heap.records.get_mut(*record) {
                        record.set("data".into(), data);
                    }
                }
                AwaitableState::Failed(error)
            }
        };
        self.end(at, state)?;
        self.propagate(at)?;
        Ok(true)
    }

    fn pending_leaf(
        &self,
        step: LocalEffectKey,
    ) -> Option<(AwaitableRef, EffectKind, Option<LocalEffectKey>)> {
        let at = *self.steps.get(&step)?;
        let awaitable = self.heap.awaitables.get(at)?;
        let Kind::Leaf(leaf) = &awaitable.kind else { return None };
        let names = leaf.step == step || leaf.timer == Some(step);
        (names && awaitable.is_pending()).then_some((at, leaf.what, leaf.timer))
    }

    fn leaf_step(&self, at: AwaitableRef) -> LocalEffectKey {
        match self.heap.awaitables.get(at).map(|it| &it.kind) {
            Some(Kind::Leaf(leaf)) => leaf.step,
            _ => LocalEffectKey { turn: 0, ordinal: 0 },
        }
    }

    fn leaf_name(&self, at: AwaitableRef) -> String {
        match self.heap.awaitables.get(at).map(|it| &it.kind) {
            Some(Kind::Leaf(leaf)) => leaf.name.as_str().to_owned(),
            _ => String::new(),
        }
    }

    /// An error of the engine, with the position of the call that started the failed effect.
    pub(super) fn engine_error(
        &mut self,
        name: &str,
        code: &str,
        message: &str,
        of: AwaitableRef,
    ) -> Value {
        let at = match self.heap.awaitables.get(of).map(|it| &it.kind) {
            Some(Kind::Leaf(leaf)) => leaf.at,
            Some(Kind::Combinator(combinator)) => combinator.at,
            Some(Kind::Promise(_)) | None => 0,
        };
        let mut record = Record::default();
        record.set("name".into(), Value::text(name));
        record.set("code".into(), Value::text(code));
        record.set("message".into(), Value::text(message));
        self.set_position(&mut record, at);
        self.heap.new_record(record)
    }

    /// Settles an awaitable; what waits for it continues in jobs.
    pub(crate) fn end(&mut self, at: AwaitableRef, state: AwaitableState) -> VmResult<()> {
        self.set_state(at, state);
        self.trigger(at)
    }

    fn set_state(&mut self, at: AwaitableRef, state: AwaitableState) {
        if let Some(awaitable) = self.heap.awaitables.get_mut(at) {
            awaitable.state = state;
        }
    }

    /// Propagates the end of a member to its combinators, and from those to theirs.
    pub(crate) fn propagate(&mut self, ended: AwaitableRef) -> VmResult<()> {
        let mut todo = vec![ended];
        while let Some(ended) = todo.pop() {
            self.spend(1);
            let Some(awaitable) = self.heap.awaitables.get_mut(ended) else { continue };
            for parent in std::mem::take(&mut awaitable.parents) {
                let Some(Kind::Combinator(combinator)) =
                    self.heap.awaitables.get_mut(parent).map(|it| &mut it.kind)
                else {
                    continue;
                };
                combinator.left = combinator.left.saturating_sub(1);
                if self.decide(parent, Some(ended))? {
                    todo.push(parent);
                }
            }
        }
        Ok(())
    }

    /// Settles a new combinator if its members have already decided it.
    pub(super) fn settle_new(&mut self, made: AwaitableRef) -> VmResult<()> {
        let members = match self.heap.awaitables.get(made).map(|it| &it.kind) {
            Some(Kind::Combinator(combinator)) => combinator.members.len(),
            _ => 0,
        };
        let mut decided = members == 0 && self.decide(made, None)?;
        for index in 0..members {
            if decided {
                break;
            }
            decided = self.decide_by(made, index)?;
        }
        if decided { self.propagate(made) } else { Ok(()) }
    }

    /// Checks whether the end of a member decides the combinator.
    fn decide(&mut self, parent: AwaitableRef, ended: Option<AwaitableRef>) -> VmResult<bool> {
        let Some((mode, left)) = self.pending_combinator(parent) else { return Ok(false) };
        let index = match (ended, mode) {
            // Only modes that one member can decide need its index.
            (
                Some(ended),
                CombinatorMode::Any
                | CombinatorMode::Race
                | CombinatorMode::PromiseAny
                | CombinatorMode::PromiseRace,
            ) => self.member_index(parent, ended),
            (Some(ended), CombinatorMode::All | CombinatorMode::PromiseAll) => {
                let failed = self.heap.awaitables.get(ended);
                let failed = failed.is_some_and(|it| {
                    matches!(it.state, AwaitableState::Failed(_) | AwaitableState::Cancelled)
                });
                if failed { self.member_index(parent, ended) } else { None }
            }
            _ => None,
        };
        match index {
            Some(index) => self.decide_by(parent, index),
            None if left == 0 => self.complete(parent, mode),
            None => Ok(false),
        }
    }

    /// Lets one member decide, if it has ended and the mode allows it.
    fn decide_by(&mut self, parent: AwaitableRef, index: usize) -> VmResult<bool> {
        let Some((mode, left)) = self.pending_combinator(parent) else { return Ok(false) };
        let Some(ended) = self.member_end(parent, index)? else { return Ok(false) };
        let state = match (mode, ended) {
            (
                CombinatorMode::All | CombinatorMode::PromiseAll | CombinatorMode::PromiseRace,
                AwaitableResult::Failed(error),
            ) => AwaitableState::Failed(error),
            (CombinatorMode::Any, AwaitableResult::Done(value)) => {
                AwaitableState::Done(self.winner(parent, index, None, "result", value))
            }
            (
                CombinatorMode::PromiseAny | CombinatorMode::PromiseRace,
                AwaitableResult::Done(value),
            ) => AwaitableState::Done(value),
            (CombinatorMode::Race, ended) => AwaitableState::Done(self.entry(parent, index, ended)),
            _ if left == 0 => return self.complete(parent, mode),
            _ => return Ok(false),
        };
        self.end(parent, state)?;
        if mode.cancels_losers() {
            self.cancel_losers(parent);
        }
        Ok(true)
    }

    /// Every member has ended and none decided alone.
    fn complete(&mut self, parent: AwaitableRef, mode: CombinatorMode) -> VmResult<bool> {
        let state = match mode {
            CombinatorMode::All | CombinatorMode::PromiseAll => {
                AwaitableState::Done(self.all_results(parent)?)
            }
            CombinatorMode::Settle => AwaitableState::Done(self.all_entries(parent)?),
            CombinatorMode::PromiseAllSettled => AwaitableState::Done(self.all_settled(parent)?),
            CombinatorMode::Any | CombinatorMode::PromiseAny => {
                AwaitableState::Failed(self.all_errors(parent)?)
            }
            CombinatorMode::Race | CombinatorMode::PromiseRace => {
                let text = "a race without members has no winner";
                AwaitableState::Failed(self.engine_error("RangeError", "RangeError", text, parent))
            }
        };
        self.end(parent, state)?;
        Ok(true)
    }

    fn pending_combinator(&self, at: AwaitableRef) -> Option<(CombinatorMode, usize)> {
        let awaitable = self.heap.awaitables.get(at).filter(|it| it.is_pending())?;
        match &awaitable.kind {
            Kind::Combinator(Combinator { mode, left, .. }) => Some((*mode, *left)),
            Kind::Leaf(_) | Kind::Promise(_) => None,
        }
    }

    fn member_index(&self, parent: AwaitableRef, member: AwaitableRef) -> Option<usize> {
        let Kind::Combinator(combinator) = &self.heap.awaitables.get(parent)?.kind else {
            return None;
        };
        let is_it = |it: &Value| matches!(it, Value::Awaitable(at) if *at == member);
        combinator.members.iter().position(is_it)
    }

    /// The result of a member; none while it is pending.
    pub(super) fn member_end(
        &mut self,
        parent: AwaitableRef,
        index: usize,
    ) -> VmResult<Option<AwaitableResult>> {
        let member = match self.heap.awaitables.get(parent).map(|it| &it.kind) {
            Some(Kind::Combinator(combinator)) => combinator.members.get(index).cloned(),
            _ => None,
        };
        match member {
            Some(Value::Awaitable(at)) => self.ended(at),
            other => Ok(other.map(AwaitableResult::Done)),
        }
    }

    /// The result of an awaitable. JSON is parsed on the first read, and only once.
    fn ended(&mut self, at: AwaitableRef) -> VmResult<Option<AwaitableResult>> {
        let raw = match self.heap.awaitables.get(at).map(|it| &it.state) {
            Some(AwaitableState::Raw(json)) => json.clone(),
            Some(AwaitableState::Done(value)) => {
                return Ok(Some(AwaitableResult::Done(value.clone())));
            }
            Some(AwaitableState::Failed(error)) => {
                return Ok(Some(AwaitableResult::Failed(error.clone())));
            }
            Some(AwaitableState::Cancelled) => {
                let text = "cancelled: another awaitable decided the result first";
                let error = self.engine_error("Cancelled", "CANCELLED", text, at);
                self.set_state(at, AwaitableState::Failed(error.clone()));
                return Ok(Some(AwaitableResult::Failed(error)));
            }
            Some(AwaitableState::Pending) | None => return Ok(None),
        };
        let value = self.read_json(&raw)?;
        self.set_state(at, AwaitableState::Done(value.clone()));
        Ok(Some(AwaitableResult::Done(value)))
    }

    /// What `await` gets: a value, an error, or none while it is pending.
    pub(crate) fn awaited(&mut self, at: AwaitableRef) -> VmResult<Option<Result<Value, Value>>> {
        Ok(self.ended(at)?.map(|ended| match ended {
            AwaitableResult::Done(value) => Ok(value),
            AwaitableResult::Failed(error) => Err(error),
        }))
    }
}
