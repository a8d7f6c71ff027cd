//! The state of a disk at some point of a recording: what is durable, and what is on its way.

use std::collections::BTreeMap;
use std::sync::Arc;

use meantime_disk::{Op, What};

/// Files by their names.
pub(super) type Files = BTreeMap<Arc<str>, Vec<u8>>;

/// A disk that follows a recording.
#[derive(Debug, Clone, Default)]
pub(super) struct Platter {
    durable: Files,
    /// Done and not synced, in order, with their numbers.
    pending: Vec<(usize, Op)>,
    /// How many ops it has seen.
    position: usize,
}

impl Platter {
    /// A disk that holds files for good.
    pub(super) fn new(durable: Files) -> Self {
        Self { durable, ..Self::default() }
    }

    /// Goes on with the recording up to a position.
    pub(super) fn advance_to(&mut self, position: usize, ops: &[Op]) {
        for op in ops.get(self.position..position).unwrap_or_default() {
            match op.what {
                What::Sync { begun } => self.sync(&op.file, begun),
                _ => self.pending.push((self.position, op.clone())),
            }
            self.position += 1;
        }
    }

    /// What is durable.
    pub(super) fn durable(&self) -> &Files {
        &self.durable
    }

    /// What is not, in order.
    pub(super) fn pending(&self) -> impl Iterator<Item = &Op> {
        self.pending.iter().map(|(_, op)| op)
    }

    fn sync(&mut self, file: &Arc<str>, begun: usize) {
        let (durable, pending) = (&mut self.durable, std::mem::take(&mut self.pending));
        for (number, op) in pending {
            if op.file == *file && number < begun {
                perform(durable.entry(op.file).or_default(), &op.what, |_| true);
            } else {
                self.pending.push((number, op));
            }
        }
    }
}

/// The size of a sector: the unit in which a write may be torn.
pub(super) const SECTOR: usize = 512;

/// Does to a file what was done; of a write only the sectors that `reaches` says.
pub(super) fn perform(file: &mut Vec<u8>, what: &What, mut reaches: impl FnMut(usize) -> bool) {
    match what {
        What::Truncate { len } => file.resize(usize::try_from(*len).unwrap_or_default(), 0),
        What::Sync { .. } => {}
        What::Write { offset, bytes } => {
            let offset = usize::try_from(*offset).unwrap_or_default();
            let mut done = 0;
            while done < bytes.len() {
                let at = offset + done;
                // Sectors are those of the file, not of the write.
                let len = (SECTOR - at % SECTOR).min(bytes.len() - done);
                if reaches(at / SECTOR) {
                    file.resize(file.len().max(at + len), 0);
                    if let (Some(to), Some(from)) =
                        (file.get_mut(at..at + len), bytes.get(done..done + len))
                    {
                        to.copy_from_slice(from);
                    }
                }
                done += len;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(offset: u64, byte: u8, len: usize) -> Op {
        Op { file: "f".into(), what: What::Write { offset, bytes: vec![byte; len] } }
    }

    fn sync(begun: usize) -> Op {
        Op { file: "f".into(), what: What::Sync { begun } }
    }

    #[test]
    fn what_came_while_a_sync_ran_is_not_durable() {
        let ops = [write(0, 1, 10), write(10, 2, 10), sync(1)];
        let mut platter = Platter::new(Files::new());
        platter.advance_to(3, &ops);
        assert_eq!(platter.durable()["f"], [1; 10]);
        assert_eq!(platter.pending().count(), 1);
    }

    #[test]
    fn a_write_is_torn_at_sectors_of_the_file() {
        let mut file = vec![0; 1_024];
        perform(&mut file, &write(500, 7, 100).what, |sector| sector == 1);
        assert_eq!(file[512..600], [7; 88]);
        assert!(file[..512].iter().chain(&file[600..]).all(|byte| *byte == 0));
    }
}
