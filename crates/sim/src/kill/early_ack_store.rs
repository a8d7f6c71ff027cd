//! A store that answers before it has committed: an injected fault that the kill rig must detect.

use std::sync::Arc;

use meantime_kernel::store::{BoxFuture, Fetched, Layer, Plan, Store, UnitDone, UnitResult};

pub(super) struct EarlyAckStore(pub(super) Arc<dyn Store>);

impl Layer for EarlyAckStore {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    fn on_commit(&self, fetched: Fetched, plan: Plan) -> BoxFuture<'_, Vec<UnitResult>> {
        let results = vec![UnitResult::Done(UnitDone::default()); plan.units.len()];
        let store = Arc::clone(&self.0);
        tokio::spawn(async move { store.commit(fetched, plan).await });
        Box::pin(std::future::ready(Ok(results)))
    }
}
