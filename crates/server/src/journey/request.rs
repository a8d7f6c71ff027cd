//! Inbound requests, kept in memory under a name while they last.
//!
//! A run stores only the name. A task that names a request finds its headers here, or nothing:
//! after the answer, after a restart and on another node.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use meantime_journey::surface::Request;

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
    next: AtomicU64,
}

/// Keeps a request; it is forgotten when this is dropped.
pub(crate) struct Lasting {
    requests: Requests,
    name: String,
}

impl Requests {
    /// A name for a request that is about to be kept.
    pub(crate) fn name(&self) -> String {
        format!("rq{}", self.0.next.fetch_add(1, Ordering::Relaxed))
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
        let lasting = requests.keep(Inbound { request, passthrough: Vec::new() });
        assert!(requests.get("rq0").is_some());
        assert!(requests.get("rq1").is_none());
        drop(lasting);
        assert!(requests.get("rq0").is_none());
    }
}
