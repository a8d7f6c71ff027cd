//! Limits the number of connections, in total and per address.
//!
//! A few reserved connections beyond the limit serve only health and metrics requests, so that
//! monitoring works under overload; other requests on them get 503.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::rate_limit::subscriber_network;
use crate::settings::HttpSettings;

/// Reserved connections beyond the limit.
const RESERVED_CONNECTIONS: usize = 32;

/// The limit on connections.
pub(crate) struct ConnectionLimit {
    all: Arc<Semaphore>,
    reserved: Arc<Semaphore>,
    per_address: usize,
    by_address: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
}

/// The permit of one connection, returned when it is dropped.
pub(crate) struct ConnectionPermit {
    /// Whether it is a reserved connection.
    pub(crate) is_reserved: bool,
    _permit: OwnedSemaphorePermit,
    _address: Option<AddressCount>,
}

impl ConnectionLimit {
    pub(crate) fn new(http: &HttpSettings) -> Self {
        Self {
            all: Arc::new(Semaphore::new(http.max_connections.min(Semaphore::MAX_PERMITS))),
            reserved: Arc::new(Semaphore::new(RESERVED_CONNECTIONS)),
            per_address: http.max_connections_per_address,
            by_address: Arc::default(),
        }
    }

    /// Admits a connection, if the limits allow it.
    pub(crate) fn acquire(&self, address: IpAddr) -> Option<ConnectionPermit> {
        if let Some(address_count) = self.count_address(subscriber_network(address))
            && let Ok(permit) = self.all.clone().try_acquire_owned()
        {
            return Some(ConnectionPermit {
                is_reserved: false,
                _permit: permit,
                _address: Some(address_count),
            });
        }
        let permit = self.reserved.clone().try_acquire_owned().ok()?;
        Some(ConnectionPermit { is_reserved: true, _permit: permit, _address: None })
    }

    fn count_address(&self, address: IpAddr) -> Option<AddressCount> {
        let mut by_address = lock(&self.by_address);
        let count = by_address.entry(address).or_default();
        if *count >= self.per_address {
            return None;
        }
        *count += 1;
        Some(AddressCount { address, by_address: self.by_address.clone() })
    }
}

/// Counts a connection for its address until it is dropped.
struct AddressCount {
    address: IpAddr,
    by_address: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
}

impl Drop for AddressCount {
    fn drop(&mut self) {
        let mut by_address = lock(&self.by_address);
        if let Some(count) = by_address.get_mut(&self.address) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                by_address.remove(&self.address);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_cannot_take_the_connections_of_all() {
        let http = HttpSettings {
            max_connections: 5,
            max_connections_per_address: 3,
            ..Default::default()
        };
        let connections = ConnectionLimit::new(&http);
        let address = |last| IpAddr::from([192, 0, 2, last]);
        let enter = |last| connections.acquire(address(last)).filter(|it| !it.is_reserved);
        let mut mine: Vec<_> = (0..9).filter_map(|_| enter(1)).collect();
        assert_eq!(mine.len(), 3);
        let others: Vec<_> = (0..9).filter_map(|_| enter(2)).collect();
        assert_eq!(others.len(), 2);
        mine.pop();
        assert!(enter(1).is_some(), "who leaves makes room");
        drop((mine, others));
        assert!(lock(&connections.by_address).is_empty(), "no entry without a connection");
    }

    #[test]
    fn beyond_the_limit_a_few_may_ask_how_the_server_stands() {
        let http = HttpSettings { max_connections: 0, ..Default::default() };
        let connections = ConnectionLimit::new(&http);
        let enter = || connections.acquire(IpAddr::from([192, 0, 2, 1]));
        let reserved: Vec<_> = (0..100).filter_map(|_| enter()).collect();
        assert!(reserved.len() == RESERVED_CONNECTIONS && reserved.iter().all(|it| it.is_reserved));
        drop(reserved);
        assert!(enter().is_some());
    }
}
