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
pub(crate) struct Inbound {
    /// Headers and query.
    pub(crate) request: Request,
    /// Headers that outbound calls get.
    pub(crate) passthrough: Vec<(String, String)>,
}

/// All requests under way. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Requests(Arc<Kept>);

#[derive(Debug, Default)]
struct Kept {
    by_name: Mutex<BTreeMap<String, Arc<Inbound>>>,
    entropy: Mutex<SystemEntropy>,
}

/// Keeps a request; it is forgotten when this is dropped.
pub(crate) struct Lasting {
    requests: Requests,
    name: String,
}

impl Requests {
    /// An id for a request that is about to be kept.
    pub(crate) fn name(&self) -> String {
        let mut entropy = self.0.entropy.lock().unwrap_or_else(PoisonError::into_inner);
        format!("inbound-{:016x}{:016x}", entropy.next(), entropy.next())
    }

    /// Keeps a request under its name.
    pub(crate) fn keep(&self, inbound: Inbound) -> Lasting {
        let name = inbound.request.name.clone();
        self.entries(|entries| entries.insert(name.clone(), Arc::new(inbound)));
        Lasting { requests: self.clone(), name }
    }

    /// A request that still lasts.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<Inbound>> {
        self.entries(|entries| entries.get(name).cloned())
    }

    fn entries<T>(&self, look: impl FnOnce(&mut BTreeMap<String, Arc<Inbound>>) -> T) -> T {
        look(&mut self.0.by_name.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Lasting {
    fn drop(&mut self) {
        self.requests.entries(|entries| entries.remove(&self.name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_forgotten_with_its_answer() {
        let requests = Requests::default();
        let request = Request { name: requests.name(), ..Request::default() };
        let name = request.name.clone();
        let lasting = requests.keep(Inbound { request, passthrough: Vec::new() });
        assert!(requests.get(&name).is_some());
        drop(lasting);
        assert!(requests.get(&name).is_none());
    }

    #[test]
    fn no_process_gives_the_id_of_another() {
        let processes = [Requests::default(), Requests::default()];
        let ids = processes.iter().flat_map(|it| (0..1_000).map(|_| it.name()));
        let ids: std::collections::BTreeSet<String> = ids.collect();
        assert_eq!(ids.len(), 2_000);
    }
}
