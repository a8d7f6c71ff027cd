//! Inbound requests, kept in memory under an id while they last.
//!
//! A run stores only the id. A task that names a request finds its headers here, or nothing: after
//! the answer, after a restart and on another node. Stored ids outlive the process that gave them,
//! so an id is 128 random bits: no other process and no other node gives it again, and nobody can
//! guess one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use meantime_journey::surface::Request;
use meantime_kernel::random::{Entropy as _, SystemEntropy};

/// A request as tasks see it.
#[derive(Debug, Clone, Default)]
pub(crate) struct InboundRequest {
    /// Headers and query.
    pub(crate) request: Request,
    /// Headers that outbound calls get.
    pub(crate) passthrough: Vec<(String, String)>,
}

/// All requests under way. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct InboundRequests(Arc<RequestRegistry>);

#[derive(Debug, Default)]
struct RequestRegistry {
    by_name: Mutex<BTreeMap<String, Arc<InboundRequest>>>,
    entropy: Mutex<SystemEntropy>,
}

/// Keeps a request; it is forgotten when this is dropped.
pub(crate) struct RequestGuard {
    requests: InboundRequests,
    name: String,
}

impl InboundRequests {
    /// An id for a request that is about to be kept.
    pub(crate) fn new_id(&self) -> String {
        let mut entropy = self.0.entropy.lock().unwrap_or_else(PoisonError::into_inner);
        format!("inbound-{:016x}{:016x}", entropy.next(), entropy.next())
    }

    /// Keeps a request under its name.
    pub(crate) fn register(&self, inbound: InboundRequest) -> RequestGuard {
        let name = inbound.request.name.clone();
        self.with_entries(|entries| entries.insert(name.clone(), Arc::new(inbound)));
        RequestGuard { requests: self.clone(), name }
    }

    /// A request that still lasts.
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
