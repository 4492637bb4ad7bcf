//! What glibc's POSIX AIO needs beyond the libc crate: the layouts of two of its structures, and aio_init(3).

/// A sigevent for SIGEV_THREAD, whose fields the libc crate does not show: the layout of `struct sigevent` in glibc.
#[repr(C)]
pub(super) struct ThreadEvent {
    value: libc::sigval,
    signal: libc::c_int,
    notify: libc::c_int,
    pub(super) function: Option<extern "C" fn(libc::sigval)>,
    attributes: *mut libc::pthread_attr_t,
}

const _: () = assert!(
    size_of::<ThreadEvent>() <= size_of::<libc::sigevent>()
        && std::mem::offset_of!(ThreadEvent, notify) == std::mem::offset_of!(libc::sigevent, sigev_notify)
        && std::mem::offset_of!(ThreadEvent, function)
            == std::mem::offset_of!(libc::sigevent, sigev_notify_thread_id)
);

/// The layout of `struct aioinit` in glibc, which the libc crate does not have.
#[repr(C)]
struct AioInit {
    threads: libc::c_int,
    requests: libc::c_int,
    locks: libc::c_int,
    use_dba: libc::c_int,
    debug: libc::c_int,
    users: libc::c_int,
    idle_time_s: libc::c_int,
    reserved: libc::c_int,
}

unsafe extern "C" {
    fn aio_init(init: *const AioInit);
}

/// Sets how many helper threads the library may have, for this whole process. It takes effect before the first request
/// only.
pub fn set_helper_threads(threads: u32, requests: u32) {
    let init = AioInit {
        threads: threads.clamp(1, 1024).cast_signed(),
        requests: requests.clamp(1, 65_536).cast_signed(),
        locks: 0,
        use_dba: 0,
        debug: 0,
        users: 0,
        idle_time_s: 1,
        reserved: 0,
    };
    // SAFETY: the structure is laid out as the library's and is only read during the call.
    unsafe { aio_init(&raw const init) };
}
