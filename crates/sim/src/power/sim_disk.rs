//! The state of a disk at some point of a recording: what is durable, and what is not yet synced.

use std::collections::BTreeMap;
use std::sync::Arc;

use meantime_disk::{DiskOp, OpKind};

/// Files by their names.
pub(super) type DiskFiles = BTreeMap<Arc<str>, Vec<u8>>;

/// A disk that replays a recording.
#[derive(Debug, Clone, Default)]
pub(super) struct SimDisk {
    durable: DiskFiles,
    /// Operations that are not yet synced, in order, with their numbers.
    pending: Vec<(usize, DiskOp)>,
    /// The number of replayed operations.
    position: usize,
}

impl SimDisk {
    /// A disk whose files are durable.
    pub(super) fn new(durable: DiskFiles) -> Self {
        Self { durable, ..Self::default() }
    }

    /// Replays the recording up to a position.
    pub(super) fn advance_to(&mut self, position: usize, ops: &[DiskOp]) {
        for op in ops.get(self.position..position).unwrap_or_default() {
            match op.kind {
                OpKind::Sync { ops_before } => self.sync(&op.file, ops_before),
                _ => self.pending.push((self.position, op.clone())),
            }
            self.position += 1;
        }
    }

    /// The durable files.
    pub(super) fn durable(&self) -> &DiskFiles {
        &self.durable
    }

    /// Operations that are not yet synced, in order.
    pub(super) fn pending(&self) -> impl Iterator<Item = &DiskOp> {
        self.pending.iter().map(|(_, op)| op)
    }

    fn sync(&mut self, file: &Arc<str>, ops_before: usize) {
        let (durable, pending) = (&mut self.durable, std::mem::take(&mut self.pending));
        for (number, op) in pending {
            if op.file == *file && number < ops_before {
                apply_op(durable.entry(op.file).or_default(), &op.kind, |_| true);
            } else {
                self.pending.push((number, op));
            }
        }
    }
}

/// The size of a sector: the unit in which a write may be torn.
pub(super) const SECTOR_BYTES: usize = 512;

/// Applies an operation to a file; of a write, only the sectors for which `sector_arrives` is true.
pub(super) fn apply_op(
    file: &mut Vec<u8>,
    kind: &OpKind,
    mut sector_arrives: impl FnMut(usize) -> bool,
) {
    match kind {
        OpKind::Truncate { len } => file.resize(usize::try_from(*len).unwrap_or_default(), 0),
        OpKind::Sync { .. } => {}
        OpKind::Write { offset, bytes } => {
            let offset = usize::try_from(*offset).unwrap_or_default();
            let mut done = 0;
            while done < bytes.len() {
                let at = offset + done;
                // Sectors are aligned in the file, not in the write.
                let len = (SECTOR_BYTES - at % SECTOR_BYTES).min(bytes.len() - done);
                if sector_arrives(at / SECTOR_BYTES) {
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

    fn write(offset: u64, byte: u8, len: usize) -> DiskOp {
        DiskOp { file: "f".into(), kind: OpKind::Write { offset, bytes: vec![byte; len] } }
    }

    fn sync(ops_before: usize) -> DiskOp {
        DiskOp { file: "f".into(), kind: OpKind::Sync { ops_before } }
    }

    #[test]
    fn what_came_while_a_sync_ran_is_not_durable() {
        let ops = [write(0, 1, 10), write(10, 2, 10), sync(1)];
        let mut disk = SimDisk::new(DiskFiles::new());
        disk.advance_to(3, &ops);
        assert_eq!(disk.durable()["f"], [1; 10]);
        assert_eq!(disk.pending().count(), 1);
    }

    #[test]
    fn a_write_is_torn_at_sectors_of_the_file() {
        let mut file = vec![0; 1_024];
        apply_op(&mut file, &write(500, 7, 100).kind, |sector| sector == 1);
        assert_eq!(file[512..600], [7; 88]);
        assert!(file[..512].iter().chain(&file[600..]).all(|byte| *byte == 0));
    }
}
