//! A reader that follows the history of all instances misses no row, in whatever order commits end.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use meantime_kernel::store::{Store, Unit, Write};
use meantime_store::conformance::block_on;

use crate::rows::{alone, commit, fresh_database, history};

#[test]
fn whoever_follows_the_history_misses_nothing() {
    let database = fresh_database();
    let store = Arc::new(alone(&database));
    let next = Arc::new(AtomicU64::new(1));
    let is_over = Arc::new(AtomicBool::new(false));
    let writers = (0..6_u64).map(|writer| {
        let (store, next) = (Arc::clone(&store), Arc::clone(&next));
        std::thread::spawn(move || {
            for round in 0..40_u64 {
                // Numbers are assigned just before the commit, and small plans overtake large ones.
                let width = if writer % 2 == 0 { 200 } else { 1 };
                let first = next.fetch_add(width, Ordering::SeqCst);
                let writes = (first..first + width).map(|seq| Write::History(history(1, seq)));
                let unit = Unit { writes: writes.collect(), ..Unit::default() };
                commit(&*store, writer * 1_000 + round + 1, vec![unit]);
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    let follower = {
        let (store, is_over) = (Arc::clone(&store), Arc::clone(&is_over));
        std::thread::spawn(move || {
            let (mut after, mut seen) = (0, BTreeSet::new());
            loop {
                let last_look = is_over.load(Ordering::SeqCst);
                let rows = block_on(store.history_since(after, 500)).expect("it reads");
                after = rows.last().map_or(after, |row| row.seq);
                seen.extend(rows.iter().map(|row| row.seq));
                if last_look && rows.is_empty() {
                    return seen;
                }
            }
        })
    };
    for writer in writers {
        writer.join().expect("it ends");
    }
    is_over.store(true, Ordering::SeqCst);
    let seen = follower.join().expect("it ends");
    assert_eq!(seen.len(), 3 * 40 * 201);
}
