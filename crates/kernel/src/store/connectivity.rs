//! Changes of whether a store can be reached.

use std::sync::Arc;

/// Whether a store can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Connectivity {
    /// It became unreachable, for this reason. Calls fail at once until it is restored.
    Lost(String),
    /// It was connected, perhaps again. A node renews its lease at once.
    Restored,
}

/// Is called with every change.
pub type ConnectivityListener = Arc<dyn Fn(Connectivity) + Send + Sync>;
