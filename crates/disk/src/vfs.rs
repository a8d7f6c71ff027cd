//! The layer between SQLite and the system's files. The only `unsafe` code of the project.
//!
//! SQLite allocates a file as one block: our [`RecordedFile`] followed by the file of the system's
//! own VFS, to which every call is forwarded. A recorded file has a `FileRecorder` from open to
//! close. SQLite calls a file from one thread at a time.
#![expect(unsafe_code, reason = "SQLite's interface for file systems is a table of C functions")]

use std::ffi::{CStr, OsStr, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;

use rusqlite::ffi;

use crate::recording::{FileRecorder, OpKind};

/// Our part of a file, as SQLite sees it. The system's file follows in the same block.
#[repr(C)]
struct RecordedFile {
    base: ffi::sqlite3_file,
    /// From `Box::into_raw`, or null.
    recorder: *mut FileRecorder,
}

/// The system's own VFS, looked up once. It is never unregistered, so the pointer stays valid.
struct SystemVfs(*mut ffi::sqlite3_vfs);

// SAFETY: SQLite itself uses this table from every thread; it is not modified after its creation.
unsafe impl Send for SystemVfs {}
// SAFETY: as above.
unsafe impl Sync for SystemVfs {}

static SYSTEM: OnceLock<SystemVfs> = OnceLock::new();

static IO_METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// Puts the layer under every connection that is opened from now on.
pub(crate) fn install_vfs() {
    SYSTEM.get_or_init(|| {
        // SAFETY: a null name asks for the default VFS, which always exists. The new table is a
        // copy of it except for the fields replaced here, and lives for ever because it is leaked.
        unsafe {
            let system = ffi::sqlite3_vfs_find(ptr::null());
            let mut ours = *system;
            ours.pNext = ptr::null_mut();
            ours.zName = c"meantime-recorder".as_ptr();
            ours.szOsFile += size_of_c_int::<RecordedFile>();
            ours.xOpen = Some(open);
            let registered = ffi::sqlite3_vfs_register(Box::leak(Box::new(ours)), 1);
            assert_eq!(registered, ffi::SQLITE_OK, "SQLite takes another file system");
            SystemVfs(system)
        }
    });
}

fn size_of_c_int<T>() -> c_int {
    c_int::try_from(size_of::<T>()).unwrap_or(c_int::MAX)
}

/// The system's file, which follows ours.
///
/// # Safety
///
/// `file` was opened by [`open`].
unsafe fn system_file(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    // SAFETY: SQLite allocated `szOsFile` bytes, ours first; both sizes are multiples of eight.
    unsafe { file.cast::<RecordedFile>().add(1).cast() }
}

/// The recorder of the file, if it is recorded.
///
/// # Safety
///
/// `file` was opened by [`open`] and not closed.
unsafe fn recorder<'a>(file: *mut ffi::sqlite3_file) -> Option<&'a FileRecorder> {
    // SAFETY: the pointer is null or came from a box that `close` frees.
    unsafe { (*file.cast::<RecordedFile>()).recorder.as_ref() }
}

/// Calls a method of the system's file.
macro_rules! forward {
    ($file:expr, $method:ident $(, $argument:expr)*) => {{
        // SAFETY: SQLite only calls files that `open` has opened, with arguments that are valid for
        // the method; the system's file is open as long as ours.
        unsafe {
            let system = system_file($file);
            match (*(*system).pMethods).$method {
                Some(method) => method(system $(, $argument)*),
                None => ffi::SQLITE_IOERR,
            }
        }
    }};
}

unsafe extern "C" fn open(
    _vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    let Some(SystemVfs(system)) = SYSTEM.get() else { return ffi::SQLITE_CANTOPEN };
    // SAFETY: the arguments are SQLite's; `file` is a block of `szOsFile` bytes. When the system's
    // open fails it may leave its methods null, and then SQLite must find ours null as well.
    unsafe {
        let ours = file.cast::<RecordedFile>();
        (*ours).base.pMethods = ptr::null();
        (*ours).recorder = ptr::null_mut();
        let below = system_file(file);
        let Some(method) = (**system).xOpen else { return ffi::SQLITE_CANTOPEN };
        let opened = method(*system, name, below, flags, out_flags);
        if !(*below).pMethods.is_null() {
            (*ours).base.pMethods = &raw const IO_METHODS;
            if opened == ffi::SQLITE_OK && !name.is_null() {
                let path = Path::new(OsStr::from_bytes(CStr::from_ptr(name).to_bytes()));
                let recorder = FileRecorder::of(path).map(Box::new);
                (*ours).recorder = recorder.map_or(ptr::null_mut(), Box::into_raw);
            }
        }
        opened
    }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    let closed = forward!(file, xClose);
    // SAFETY: the pointer came from `open` and is taken once: SQLite closes a file once.
    unsafe {
        let recorder =
            ptr::replace(&raw mut (*file.cast::<RecordedFile>()).recorder, ptr::null_mut());
        if !recorder.is_null() {
            drop(Box::from_raw(recorder));
        }
    }
    closed
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    buffer: *mut c_void,
    amount: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    forward!(file, xRead, buffer, amount, offset)
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    buffer: *const c_void,
    amount: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    let written = forward!(file, xWrite, buffer, amount, offset);
    // SAFETY: SQLite's buffer holds `amount` bytes; the file is open.
    if let (ffi::SQLITE_OK, Some(recorder)) = (written, unsafe { recorder(file) }) {
        let len = usize::try_from(amount).unwrap_or_default();
        // SAFETY: as above.
        let bytes = unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), len) }.to_vec();
        // Recorded after the write: a sync that began before this point may have missed it, and its
        // `ops_before` does not include it.
        recorder.record(OpKind::Write { offset: offset.unsigned_abs(), bytes });
    }
    written
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: ffi::sqlite3_int64) -> c_int {
    let done = forward!(file, xTruncate, size);
    // SAFETY: the file is open.
    if let (ffi::SQLITE_OK, Some(recorder)) = (done, unsafe { recorder(file) }) {
        recorder.record(OpKind::Truncate { len: size.unsigned_abs() });
    }
    done
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: the file is open.
    let recorder = unsafe { recorder(file) };
    let ops_before = recorder.map(FileRecorder::position);
    let done = forward!(file, xSync, flags);
    if let (ffi::SQLITE_OK, Some(recorder), Some(ops_before)) = (done, recorder, ops_before) {
        recorder.record(OpKind::Sync { ops_before });
    }
    done
}

unsafe extern "C" fn file_size(
    file: *mut ffi::sqlite3_file,
    size: *mut ffi::sqlite3_int64,
) -> c_int {
    forward!(file, xFileSize, size)
}

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    forward!(file, xLock, level)
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    forward!(file, xUnlock, level)
}

unsafe extern "C" fn check_reserved_lock(
    file: *mut ffi::sqlite3_file,
    is_held: *mut c_int,
) -> c_int {
    forward!(file, xCheckReservedLock, is_held)
}

unsafe extern "C" fn file_control(
    file: *mut ffi::sqlite3_file,
    op: c_int,
    argument: *mut c_void,
) -> c_int {
    forward!(file, xFileControl, op, argument)
}

unsafe extern "C" fn sector_size(file: *mut ffi::sqlite3_file) -> c_int {
    forward!(file, xSectorSize)
}

unsafe extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    forward!(file, xDeviceCharacteristics)
}

unsafe extern "C" fn shm_map(
    file: *mut ffi::sqlite3_file,
    page: c_int,
    page_size: c_int,
    may_extend: c_int,
    mapped: *mut *mut c_void,
) -> c_int {
    forward!(file, xShmMap, page, page_size, may_extend, mapped)
}

unsafe extern "C" fn shm_lock(
    file: *mut ffi::sqlite3_file,
    offset: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    forward!(file, xShmLock, offset, count, flags)
}

unsafe extern "C" fn shm_barrier(file: *mut ffi::sqlite3_file) {
    // SAFETY: as in `forward`; this one returns nothing.
    unsafe {
        let system = system_file(file);
        if let Some(method) = (*(*system).pMethods).xShmBarrier {
            method(system);
        }
    }
}

unsafe extern "C" fn shm_unmap(file: *mut ffi::sqlite3_file, delete: c_int) -> c_int {
    forward!(file, xShmUnmap, delete)
}
