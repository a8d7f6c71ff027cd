//! Registry of inbound requests in progress.
//!
//! A run stores only the id of its request. A task looks the headers up here; it finds nothing
//! after the response, after a restart, or on another node. Stored ids outlive the process, so an
//! id has 128 random bits: no other process creates it again, and it cannot be guessed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use meantime_journey::surface::Request;
use meantime_kernel::random::{Entropy as _, SystemEntropy};

/// An inbound request as tasks see it.
#[derive(Debug, Clone, Default)]
pub(crate) struct InboundRequest {
    /// Headers and query.
    pub(crate) request: Request,
    /// Headers that are passed through to outbound calls.
    pub(crate) passthrough: Vec<(String, String)>,
}

/// All inbound requests in progress. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct InboundRequests(Arc<RequestRegistry>);

#[derive(Debug, Default)]
struct RequestRegistry {
    by_name: Mutex<BTreeMap<String, Arc<InboundRequest>>>,
    entropy: Mutex<SystemEntropy>,
}

/// Keeps a request registered until it is dropped.
pub(crate) struct RequestGuard {
    requests: InboundRequests,
    name: String,
}

impl InboundRequests {
    /// A new id for a request.
    pub(crate) fn new_id(&self) -> String {
        let mut entropy = self.0.entropy.lock().unwrap_or_else(PoisonError::into_inner);
        format!("inbound-{:016x}{:016x}", entropy.next(), entropy.next())
    }

    /// Registers a request under its id.
    pub(crate) fn register(&self, inbound: InboundRequest) -> RequestGuard {
        let name = inbound.request.name.clone();
        self.with_entries(|entries| entries.insert(name.clone(), Arc::new(inbound)));
        RequestGuard { requests: self.clone(), name }
    }

    /// A request, if it is still in progress.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<InboundRequest>> {
        self.with_entries(|entries| entries.get(name).cloned())
    }

    fn with_entries<T>(
        &self,
        look: impl FnOnce(&mut BTreeMap<String, Arc<InboundRequest>>) -> T,
    ) -> T {
        look(&mut self.0.by_name.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.requests.with_entries(|entries| entries.remove(&self.name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_forgotten_with_its_answer() {
        let requests = InboundRequests::default();
        let request = Request { name: requests.new_id(), ..Request::default() };
        let name = request.name.clone();
        let guard = requests.register(InboundRequest { request, passthrough: Vec::new() });
        assert!(requests.get(&name).is_some());
        drop(guard);
        assert!(requests.get(&name).is_none());
    }

    #[test]
    fn no_process_gives_the_id_of_another() {
        let processes = [InboundRequests::default(), InboundRequests::default()];
        let ids = processes.iter().flat_map(|it| (0..1_000).map(|_| it.new_id()));
        let ids: std::collections::BTreeSet<String> = ids.collect();
        assert_eq!(ids.len(), 2_000);
    }
}
