//! `cache:v1`: an in-memory cache per server, bounded in bytes.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use meantime_core::{Json, Timestamp};
use meantime_kernel::command::Report;
use serde::Deserialize;

use super::task::permanent_failure;

/// The input of a cache task.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CacheRequest {
    operation: CacheOperation,
    key: String,
    #[serde(default)]
    value: Json,
    #[serde(default)]
    ttl_seconds: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
enum CacheOperation {
    Get,
    Put,
}

/// The cache.
#[derive(Debug)]
pub(super) struct Cache {
    max_bytes: usize,
    entries: Mutex<CacheEntries>,
}

#[derive(Debug, Default)]
struct CacheEntries {
    by_key: BTreeMap<String, CacheEntry>,
    /// Keys in insertion order, for eviction.
    by_age: BTreeMap<u64, String>,
    next: u64,
    bytes: usize,
}

#[derive(Debug)]
struct CacheEntry {
    value: Json,
    until: Option<Timestamp>,
    age: u64,
}

impl Cache {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, entries: Mutex::default() }
    }

    /// Executes a cache task.
    pub(super) fn run(&self, input: &Json, now: Timestamp) -> Report {
        let request = match input.read::<CacheRequest>() {
            Ok(request) => request,
            Err(error) => return permanent_failure("CACHE_INVALID", &error.to_string()),
        };
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        Report::Completed(match request.operation {
            CacheOperation::Get => entries.get(&request.key, now),
            CacheOperation::Put => {
                let ms = request.ttl_seconds.map(|it| i64::try_from(it).unwrap_or(i64::MAX));
                let until = ms.map(|it| now.saturating_add_millis(it.saturating_mul(1_000)));
                entries.put(request.key, request.value, until);
                entries.evict(self.max_bytes);
                Json::null()
            }
        })
    }
}

impl CacheEntries {
    /// The value of a key; null if there is none or it has expired.
    fn get(&mut self, key: &str, now: Timestamp) -> Json {
        let is_over = |entry: &CacheEntry| entry.until.is_some_and(|until| until <= now);
        if self.by_key.get(key).is_some_and(is_over) {
            self.remove(key);
        }
        self.by_key.get(key).map(|entry| entry.value.clone()).unwrap_or_default()
    }

    fn put(&mut self, key: String, value: Json, until: Option<Timestamp>) {
        self.remove(&key);
        self.next += 1;
        self.bytes += entry_bytes(&key, &value);
        self.by_age.insert(self.next, key.clone());
        self.by_key.insert(key, CacheEntry { value, until, age: self.next });
    }

    fn remove(&mut self, key: &str) {
        if let Some(entry) = self.by_key.remove(key) {
            self.by_age.remove(&entry.age);
            self.bytes -= entry_bytes(key, &entry.value);
        }
    }

    /// Evicts the oldest entries until the cache fits.
    fn evict(&mut self, max_bytes: usize) {
        while self.bytes > max_bytes
            && let Some((_, key)) = self.by_age.pop_first()
        {
            self.remove(&key);
        }
    }
}

fn entry_bytes(key: &str, value: &Json) -> usize {
    /// Approximate overhead of the maps per entry.
    const ENTRY_OVERHEAD_BYTES: usize = 128;
    2 * key.len() + value.as_str().len() + ENTRY_OVERHEAD_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(cache: &Cache, now: i64, text: &str) -> String {
        let input = Json::parse(text).expect("JSON");
        match cache.run(&input, Timestamp::from_millis(now)) {
            Report::Completed(value) => value.as_str().to_owned(),
            Report::Failed { failure, .. } => failure.code,
        }
    }

    #[test]
    fn a_value_is_there_until_its_time_is_over() {
        let cache = Cache::new(1_000);
        assert_eq!(run(&cache, 0, r#"{"operation":"get","key":"a"}"#), "null");
        run(&cache, 0, r#"{"operation":"put","key":"a","value":{"x":1},"ttlSeconds":5}"#);
        run(&cache, 0, r#"{"operation":"put","key":"b","value":2,"ttlSeconds":null}"#);
        assert_eq!(run(&cache, 4_999, r#"{"operation":"get","key":"a"}"#), r#"{"x":1}"#);
        assert_eq!(run(&cache, 5_000, r#"{"operation":"get","key":"a"}"#), "null");
        assert_eq!(run(&cache, 1 << 40, r#"{"operation":"get","key":"b"}"#), "2");
        assert_eq!(run(&cache, 0, r#"{"operation":"drop"}"#), "CACHE_INVALID");
    }

    #[test]
    fn the_oldest_goes_when_there_is_no_room() {
        let cache = Cache::new(300);
        for key in ["a", "b", "a", "c"] {
            run(&cache, 0, &format!(r#"{{"operation":"put","key":"{key}","value":1}}"#));
        }
        let found = |key: &str| run(&cache, 0, &format!(r#"{{"operation":"get","key":"{key}"}}"#));
        assert_eq!([found("a"), found("b"), found("c")], ["1", "null", "1"]);
    }
}
