//! P3: a timer whose instant has come is not there any more.

use super::chronicle::Chronicle;
use super::violation::Findings;

pub(super) fn check(chronicle: &Chronicle, found: &mut Findings<'_>) {
    let now = chronicle.rows.now;
    for row in chronicle.rows.timers.values().filter(|row| !row.frozen && row.due_at <= now) {
        let text = format!("timer {} is due since {} and it is {now}", row.id, row.due_at);
        found.about(row.id.0.instance, text);
    }
}
