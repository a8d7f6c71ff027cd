//! A store that loses the answers of chosen commits, with or without having applied them (I2).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use meantime_kernel::store::{BoxFuture, Error, Fetched, Layer, Plan, Store, UnitDone, UnitResult};

/// The fault of one commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitFault {
    /// The commit takes effect, and its answer is lost.
    LostAnswer,
    /// The commit does not take effect, and its answer is lost.
    LostCommit,
    /// The commit is refused: nothing was written.
    Unavailable,
}

/// Wraps a store and injects faults at chosen commits, counted from 1.
pub struct FlakyStore {
    inner: Arc<dyn Store>,
    faults: Mutex<(u64, BTreeMap<u64, CommitFault>)>,
}

impl FlakyStore {
    /// Wraps a store.
    pub fn new(inner: Arc<dyn Store>, faults: BTreeMap<u64, CommitFault>) -> Self {
        Self { inner, faults: Mutex::new((0, faults)) }
    }

    fn next_fault(&self) -> Option<CommitFault> {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        faults.0 += 1;
        let number = faults.0;
        faults.1.get(&number).copied()
    }
}

impl Layer for FlakyStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn on_commit(&self, fetched: Fetched, plan: Plan) -> BoxFuture<'_, Vec<UnitResult>> {
        let message = "as the test wants".to_owned();
        match self.next_fault() {
            None => self.inner.commit(fetched, plan),
            Some(CommitFault::Unavailable) => {
                Box::pin(std::future::ready(Err(Error::Unavailable(message))))
            }
            Some(CommitFault::LostCommit) => {
                let results = vec![UnitResult::Done(UnitDone::default()); plan.units.len()];
                Box::pin(std::future::ready(Err(Error::Ambiguous { results, message })))
            }
            Some(CommitFault::LostAnswer) => Box::pin(async move {
                let results = self.inner.commit(fetched, plan).await?;
                Err(Error::Ambiguous { results, message })
            }),
        }
    }
}
