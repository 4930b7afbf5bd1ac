//! Tests that a process which serves a test with probes records its batches in the tree. This program starts itself as
//! the test, with the page as standard input and the tree as standard output; both are files that the two processes
//! share.

use perfunit_runtime::__private::{next_test, serve_function, Site};
use perfunit_runtime::page::{
    self, child, state, Page, SideArea, ANY_CORE, COLD, FORK, PAGE_BYTES, SERVE_VARIABLE, TEST_VARIABLE, WHOLE,
};
use perfunit_runtime::tree::{self, mode, Figures, Header, Layout, Node};
use std::ffi::{c_int, c_long, c_void};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::mem::{offset_of, size_of};
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::time::Duration;

static OUTER: Site = Site::new(11);
static INNER: Site = Site::new(22);
static UNWANTED: Site = Site::new(UNWANTED_KEY);

/// Key that is listed as inactive.
const UNWANTED_KEY: u64 = 33;
const LAYOUT: Layout = Layout { keys: 1, capacity: 64, rows: 24 };

fn main() {
    if std::env::var_os(SERVE_VARIABLE).is_some() {
        if std::env::var_os(TEST_VARIABLE).is_none() {
            if std::env::var_os(THREAD_VARIABLE).is_some() {
                std::thread::spawn(|| std::thread::sleep(Duration::from_secs(60)));
            }
            serve_function(&next_test(), false, by_name);
        }
        serve_function("served", false, if std::env::var_os(ONCE_VARIABLE).is_some() { once } else { body });
    }
    many_batches_have_their_rows_without_the_untimed_runs();
    few_batches_have_their_rows();
    a_single_long_call_is_the_first_row();
    a_cold_process_has_no_tree();
    each_forked_child_makes_a_first_call();
    a_child_that_ends_is_told_from_one_that_fails();
    a_fork_server_serves_test_after_test();
    a_program_with_threads_is_no_fork_server();
    println!("8 cases passed");
}

/// Environment variable for [`once`] with the behavior of a child's call.
const ONCE_VARIABLE: &str = "PERFUNIT_SERVED_ONCE";

/// Passes only once per process.
fn once() -> Result<(), String> {
    static CALLED: AtomicBool = AtomicBool::new(false);
    if std::env::var(ONCE_VARIABLE).as_deref() == Ok("abort") {
        std::process::abort();
    }
    let first = !CALLED.swap(true, Relaxed);
    first.then_some(()).ok_or_else(|| "called again".to_owned())
}

/// Calls `OUTER` once, and `INNER` twice from it and once from another thread.
fn body() -> Result<(), String> {
    let _outer = OUTER.enter();
    for _ in 0..2 {
        let _unwanted = UNWANTED.enter();
        let _inner = INNER.enter();
    }
    let thread = std::thread::spawn(|| drop(INNER.enter()));
    thread.join().map_err(|_| "the thread panicked".to_owned())
}

/// Request of the tool.
struct Request {
    mode: u32,
    flags: u32,
    batches: u32,
    repetitions: u64,
    warm: u32,
}

/// Content of both files after the process has ended.
struct End {
    page: Vec<u8>,
    tree: Vec<u8>,
}

impl End {
    fn page32(&self, offset: usize) -> u32 {
        u32::from_ne_bytes(self.page[offset..][..4].try_into().unwrap())
    }

    fn tree32(&self, offset: usize) -> u32 {
        u32::from_ne_bytes(self.tree[offset..][..4].try_into().unwrap())
    }

    fn tree64(&self, offset: usize) -> u64 {
        u64::from_ne_bytes(self.tree[offset..][..8].try_into().unwrap())
    }

    fn node64(&self, node: usize, offset: usize) -> u64 {
        self.tree64(LAYOUT.nodes() + node * size_of::<Node>() + offset)
    }

    fn row64(&self, row: usize, node: usize, offset: usize) -> u64 {
        self.tree64(LAYOUT.row(row) + node * size_of::<Figures>() + offset)
    }

    /// Returns the keys of the nodes in use, except node 0.
    fn keys(&self) -> Vec<u64> {
        let used = self.tree32(offset_of!(Header, used)) as usize;
        (1..used).map(|node| self.node64(node, offset_of!(Node, key))).collect()
    }

    /// Returns the calls of a site in one batch, in all contexts.
    fn calls(&self, row: usize, key: u64) -> u64 {
        let nodes = self.keys().into_iter().enumerate().filter(|(_, found)| *found == key);
        nodes.map(|(index, _)| self.row64(row, index + 1, offset_of!(Figures, calls))).sum()
    }

    /// Asserts that every batch made this many repetitions, and that the sums are those of the rows.
    #[track_caller]
    fn check_rows(&self, batches: u32, repetitions: u64) {
        assert_eq!(self.page32(offset_of!(Page, sides) + offset_of!(SideArea, state)), state::DONE);
        assert_eq!(self.tree32(offset_of!(Header, batches)), batches);
        for row in 0..batches as usize {
            assert_eq!((self.calls(row, 11), self.calls(row, 22)), (repetitions, 3 * repetitions), "in batch {row}");
        }
        for node in 1..=self.keys().len() {
            for (sum, part) in [
                (offset_of!(Node, calls), offset_of!(Figures, calls)),
                (offset_of!(Node, self_ticks), offset_of!(Figures, self_ticks)),
            ] {
                let parts = (0..batches as usize).map(|row| self.row64(row, node, part));
                assert_eq!(self.node64(node, sum), parts.sum::<u64>());
            }
        }
        assert!(f64::from_bits(self.tree64(offset_of!(Header, ticks_per_second))) > 0.0);
    }
}

/// Creates an unlinked file in the temporary folder.
fn shared(length: usize, words: &[(usize, &[u8])]) -> File {
    let path = std::env::temp_dir().join(format!("perfunit-served-{}", std::process::id()));
    let mut file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let mut content = vec![0; length];
    for (offset, word) in words {
        content[*offset..][..word.len()].copy_from_slice(word);
    }
    file.write_all(&content).unwrap();
    file
}

fn serve(request: &Request) -> End {
    serve_with(request, None)
}

fn serve_with(request: &Request, once: Option<&str>) -> End {
    let mut page = shared(
        PAGE_BYTES,
        &[
            (offset_of!(Page, magic), &page::MAGIC.to_ne_bytes()),
            (offset_of!(Page, flags), &request.flags.to_ne_bytes()),
            // The schedule consists of zeros, so side 0 has all turns.
            (offset_of!(Page, turns), &(1 + request.batches).to_ne_bytes()),
            (offset_of!(Page, batches), &request.batches.to_ne_bytes()),
            (offset_of!(Page, repetitions), &request.repetitions.to_ne_bytes()),
            (offset_of!(Page, warm), &request.warm.to_ne_bytes()),
            (offset_of!(Page, core), &ANY_CORE.to_ne_bytes()),
            (offset_of!(Page, sides) + offset_of!(SideArea, tree), &1_i32.to_ne_bytes()),
        ],
    );
    let mut tree = shared(
        LAYOUT.bytes(),
        &[
            (offset_of!(Header, magic), &tree::MAGIC.to_ne_bytes()),
            (offset_of!(Header, default_mode), &request.mode.to_ne_bytes()),
            (offset_of!(Header, listed_mode), &mode::INACTIVE.to_ne_bytes()),
            (offset_of!(Header, keys), &LAYOUT.keys.to_ne_bytes()),
            (offset_of!(Header, capacity), &LAYOUT.capacity.to_ne_bytes()),
            (offset_of!(Header, rows), &LAYOUT.rows.to_ne_bytes()),
            (Layout::KEYS, &UNWANTED_KEY.to_ne_bytes()),
        ],
    );
    let status = Command::new(std::env::current_exe().unwrap())
        .env(SERVE_VARIABLE, "0:0")
        .env(TEST_VARIABLE, "served")
        .envs(once.map(|what| (ONCE_VARIABLE, what)))
        .stdin(Stdio::from(page.try_clone().unwrap()))
        .stdout(Stdio::from(tree.try_clone().unwrap()))
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
    let content = |file: &mut File| {
        let mut content = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut content).unwrap();
        content
    };
    End { page: content(&mut page), tree: content(&mut tree) }
}

fn many_batches_have_their_rows_without_the_untimed_runs() {
    let end = serve(&Request { mode: mode::TIMING, flags: 0, batches: 24, repetitions: 3, warm: 1 });
    end.check_rows(24, 3);
    // The roots of two threads at a time, and three functions in their contexts.
    let mut keys = end.keys();
    keys.sort_unstable();
    assert_eq!(keys, [0, 0, 11, 22, 22]);
    assert_eq!(end.tree64(offset_of!(Header, overflow)), 0);
    let cost = |offset: usize| f64::from_bits(end.tree64(offset));
    // Two clock readings take time on every machine.
    assert!(cost(offset_of!(Header, inside)) + cost(offset_of!(Header, outside)) > 0.0);
    assert!(cost(offset_of!(Header, counting)).is_finite() && cost(offset_of!(Header, again)).is_finite());
}

fn few_batches_have_their_rows() {
    let end = serve(&Request { mode: mode::COUNTING, flags: 0, batches: 5, repetitions: 2, warm: 0 });
    end.check_rows(5, 2);
}

fn a_single_long_call_is_the_first_row() {
    let end = serve(&Request { mode: mode::TIMING, flags: 0, batches: 1, repetitions: 1, warm: 0 });
    end.check_rows(1, 1);
}

fn a_cold_process_has_no_tree() {
    let end = serve(&Request { mode: mode::TIMING, flags: COLD, batches: 1, repetitions: 1, warm: 0 });
    assert_eq!(end.page32(offset_of!(Page, sides) + offset_of!(SideArea, state)), state::DONE);
    assert_eq!(end.tree32(offset_of!(Header, used)), 0);
}

/// First calls of the whole function, each in a child.
const FORKED: Request = Request { mode: mode::TIMING, flags: FORK | WHOLE, batches: 24, repetitions: 1, warm: 0 };

fn each_forked_child_makes_a_first_call() {
    let end = serve_with(&FORKED, Some("pass"));
    let side = offset_of!(Page, sides);
    assert_eq!(end.page32(side + offset_of!(SideArea, state)), state::DONE);
    let time = |at: usize| {
        let offset = side + offset_of!(SideArea, times) + at * size_of::<u64>();
        u64::from_ne_bytes(end.page[offset..][..8].try_into().unwrap())
    };
    assert!((0..24).all(|at| time(at) > 0));
    // In a single process the second call fails.
    let end = serve_with(&Request { flags: 0, ..FORKED }, Some("pass"));
    assert_eq!(end.page32(side + offset_of!(SideArea, state)), state::FAILED_LATER);
}

fn a_child_that_ends_is_told_from_one_that_fails() {
    let end = serve_with(&FORKED, Some("abort"));
    let side = offset_of!(Page, sides);
    assert_eq!(end.page32(side + offset_of!(SideArea, state)), state::FAILED_FIRST);
    let status = end.page32(side + offset_of!(SideArea, child_status));
    assert!(![child::RUNNING, child::PASSED, child::FAILED].contains(&status), "{status}");
    // SIGABRT.
    assert_eq!(status & 0x7f, 6);
}

extern "C" {
    fn mmap(
        address: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        fd: c_int,
        offset: c_long,
    ) -> *mut c_void;
    fn syscall(number: c_long, ...) -> c_long;
}

#[cfg(target_arch = "x86_64")]
const SYS_FUTEX: c_long = 202;
#[cfg(not(target_arch = "x86_64"))]
const SYS_FUTEX: c_long = 98;
const FUTEX_WAKE: c_int = 1;
const READ_WRITE: c_int = 3;
const SHARED: c_int = 1;

/// Environment variable for a fork server with another thread.
const THREAD_VARIABLE: &str = "PERFUNIT_SERVED_THREAD";

/// The test of a fork server's child. Passes if the thread has the test's name and the process has not called the test
/// before.
fn by_name() -> Result<(), String> {
    static CALLED: AtomicBool = AtomicBool::new(false);
    match std::thread::current().name() {
        Some("aborts") => std::process::abort(),
        Some("passes") if !CALLED.swap(true, Relaxed) => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

/// A fork server and its page.
struct ForkServer {
    process: std::process::Child,
    page: &'static Page,
    asked: u32,
}

impl ForkServer {
    fn start(has_thread: bool) -> Self {
        let file = shared(
            PAGE_BYTES,
            &[
                (offset_of!(Page, magic), &page::MAGIC.to_ne_bytes()),
                (offset_of!(Page, flags), &COLD.to_ne_bytes()),
                (offset_of!(Page, core), &ANY_CORE.to_ne_bytes()),
            ],
        );
        // SAFETY: a new mapping of a file that is long enough; `Page` consists of atomics.
        let page = unsafe {
            let address = mmap(std::ptr::null_mut(), PAGE_BYTES, READ_WRITE, SHARED, file.as_raw_fd(), 0);
            assert!(address as isize != -1);
            &*address.cast::<Page>()
        };
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env(SERVE_VARIABLE, "0:0").envs(has_thread.then_some((THREAD_VARIABLE, "1"))).stdin(Stdio::from(file));
        Self { process: command.spawn().unwrap(), page, asked: 0 }
    }

    /// Makes a child serve a test. Returns its state and its `waitpid` status.
    fn ask(&mut self, test: &str) -> (u32, u32) {
        let area = &self.page.sides[0];
        area.state.store(state::STARTING, Relaxed);
        area.message_len.store(0, Relaxed);
        self.page.turn.store(0, Relaxed);
        self.page.turns.store(1, Relaxed);
        self.page.set_name(test);
        self.asked += 1;
        self.page.asked.store(self.asked, Release);
        // SAFETY: the word is a live, aligned u32.
        unsafe { syscall(SYS_FUTEX, self.page.asked.as_ptr(), FUTEX_WAKE, c_int::MAX) };
        while area.answered.load(Acquire) != self.asked {
            assert!(self.process.try_wait().unwrap().is_none(), "the server is gone");
            std::thread::sleep(Duration::from_millis(1));
        }
        (area.state.load(Acquire), area.status.load(Relaxed))
    }
}

impl Drop for ForkServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn a_fork_server_serves_test_after_test() {
    let mut server = ForkServer::start(false);
    assert_eq!(server.ask("passes"), (state::DONE, 0));
    let (ended_in, status) = server.ask("aborts");
    // SIGABRT, with or without a core dump.
    assert_eq!((ended_in, status & 0x7f), (state::FIRST_CALL, 6));
    assert_eq!(server.ask("unknown"), (state::FAILED_FIRST, 0));
    // The child is a new process; in the first one a second call would fail.
    assert_eq!(server.ask("passes"), (state::DONE, 0));
}

fn a_program_with_threads_is_no_fork_server() {
    let mut server = ForkServer::start(true);
    assert!(server.process.wait().unwrap().success());
    assert_eq!(server.page.sides[0].cannot_fork.load(Acquire), 1);
}
