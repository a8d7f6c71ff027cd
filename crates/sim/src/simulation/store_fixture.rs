//! The store of a run, and how each process opens it.

use std::sync::Arc;

use meantime_kernel::store::{MemoryStore, Store};

type OpenStore = Arc<dyn Fn() -> Arc<dyn Store> + Send + Sync>;

/// A store for a run.
#[derive(Clone)]
pub struct StoreFixture {
    /// For checks and for reading.
    pub(super) store: Arc<dyn Store>,
    /// The same store if it is the in-memory store, which exposes more rows.
    pub(super) memory: Option<Arc<MemoryStore>>,
    /// Opens the store for a new process.
    open: OpenStore,
}

impl StoreFixture {
    /// A new in-memory store, for one process or for several.
    pub fn in_memory(nodes: usize) -> Self {
        let memory = Arc::new(MemoryStore::new());
        let root = memory.clone();
        let open: OpenStore = match nodes {
            1 => Arc::new(move || root.clone()),
            _ => Arc::new(move || Arc::new(root.for_node())),
        };
        Self { store: memory.clone(), memory: Some(memory), open }
    }

    /// A new store of another kind, used by one process.
    pub fn exclusive(store: Arc<dyn Store>) -> Self {
        let same = store.clone();
        Self { store, memory: None, open: Arc::new(move || same.clone()) }
    }

    /// A new store of another kind, which each process opens for itself.
    pub fn shared(store: Arc<dyn Store>, open: OpenStore) -> Self {
        Self { store, memory: None, open }
    }

    /// The store, as a new process sees it.
    pub(super) fn open(&self) -> Arc<dyn Store> {
        (self.open)()
    }
}
