//! Lists of names and messages that the tool knows by heart: no specification has them, and they age.
//!
//! Each list says what it is for, and what happens where it is wrong. A list belongs here if a project or a tool can
//! disagree with it; what a language or a file format defines belongs to the code that reads it.

// Files that cannot change a build or a test, by name. They count only where no Rust code mentions the name.
// A missing name: its change selects the tests of its package, as a change of data does. A superfluous name: a change of a
// file that tests read without naming it in code is called irrelevant.

/// Files of version control, CI services and developers' tools.
pub const TOOLING_FILES: [&str; 32] = [
    ".gitignore",
    ".gitattributes",
    ".gitmodules",
    ".editorconfig",
    ".mailmap",
    ".pre-commit-config.yaml",
    ".travis.yml",
    ".gitlab-ci.yml",
    ".cirrus.yml",
    "appveyor.yml",
    ".appveyor.yml",
    "azure-pipelines.yml",
    "bors.toml",
    "codecov.yml",
    ".codecov.yml",
    "rustfmt.toml",
    ".rustfmt.toml",
    "clippy.toml",
    ".clippy.toml",
    "deny.toml",
    "cliff.toml",
    "release.toml",
    "release-plz.toml",
    "typos.toml",
    "_typos.toml",
    "taplo.toml",
    "renovate.json",
    "renovate.json5",
    ".renovaterc",
    ".renovaterc.json",
    "dependabot.yml",
    "CODEOWNERS",
];
/// Folders of such files.
pub const TOOLING_FOLDERS: [&str; 5] = [".github", ".gitlab", ".circleci", ".vscode", ".idea"];
/// Settings of test runners, in a folder `.config`.
pub const RUNNER_SETTINGS: [&str; 3] = ["perfunit.toml", "perfunit-ratchet.toml", "nextest.toml"];
/// Beginnings of the names of documents, in capitals.
pub const DOCUMENTS: [&str; 23] = [
    "README",
    "CHANGELOG",
    "CHANGES",
    "HISTORY",
    "RELEASE",
    "NEWS",
    "UPGRADING",
    "LICENSE",
    "LICENCE",
    "COPYING",
    "COPYRIGHT",
    "NOTICE",
    "UNLICENSE",
    "AUTHORS",
    "CONTRIBUTING",
    "CODE_OF_CONDUCT",
    "SECURITY",
    "MAINTAINERS",
    "AGENTS",
    "CLAUDE",
    "GOVERNANCE",
    "ROADMAP",
    "ARCHITECTURE",
];
/// Folders of documentation.
pub const DOCUMENT_FOLDERS: [&str; 3] = ["doc", "docs", "book"];
/// Extensions of documents.
pub const DOCUMENT_EXTENSIONS: [&str; 4] = ["md", "txt", "rst", "adoc"];
/// Extensions of pictures, for the README or the manual.
pub const PICTURE_EXTENSIONS: [&str; 6] = ["png", "svg", "jpg", "jpeg", "gif", "webp"];

// Variables of the environment that decide what is built although no build script says that it reads them. They are part of
// the key under which a built version is kept.
// A missing name: a version is taken as built that the variable would have built otherwise; both sides of a run are built
// with the same environment, so that no comparison is wrong. A superfluous name: a version is built once more.

/// Beginnings of the names of such variables: cargo's, and those of tools that build scripts commonly run.
pub const BUILD_VARIABLE_PREFIXES: [&str; 9] = [
    "BINDGEN_EXTRA_CLANG_ARGS",
    "CARGO_BUILD_",
    "CARGO_CFG_",
    "CARGO_ENCODED_",
    "CARGO_PROFILE_",
    "CARGO_TARGET_",
    "CARGO_UNSTABLE_",
    "CMAKE",
    "PKG_CONFIG",
];
/// Names of such variables.
pub const BUILD_VARIABLES: [&str; 17] = [
    "CARGO_INCREMENTAL",
    "CLANG_PATH",
    "COMPILER_PATH",
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "CRATE_CC_NO_DEFAULTS",
    "C_INCLUDE_PATH",
    "GCC_EXEC_PREFIX",
    "LIBCLANG_PATH",
    "LIBRARY_PATH",
    "LLVM_CONFIG_PATH",
    "RUSTC",
    "RUSTC_BOOTSTRAP",
    "RUSTC_WRAPPER",
    "RUSTDOCFLAGS",
    "RUSTFLAGS",
    "SDKROOT",
];
/// Programs of a C toolchain and their options, as the `cc` crate reads them: alone, after `HOST_` or `TARGET_`, and before
/// `_` with a triple.
pub const C_TOOL_VARIABLES: [&str; 13] = [
    "AR",
    "ARFLAGS",
    "CC",
    "CFLAGS",
    "CPPFLAGS",
    "CXX",
    "CXXFLAGS",
    "CXXSTDLIB",
    "LD",
    "LDFLAGS",
    "NVCC",
    "RANLIB",
    "RANLIBFLAGS",
];
/// Variables that decide the machine code of a program, also those of profiles and all that end in `RUSTFLAGS`: saved results
/// hold for one value of them.
pub const CODE_VARIABLES: [&str; 4] = ["CARGO_BUILD_TARGET", "CFLAGS", "CXXFLAGS", "RUSTC_BOOTSTRAP"];
/// Variables that decide what a linker does, by `gcc(1)`, `clang(1)` and `ld(1)`, and those that rustc sets. Linking again
/// repeats them. A missing name: linking again gives another program than cargo's, which is noticed, and layouts are not
/// matched.
pub const LINKER_VARIABLES: [&str; 13] = [
    "PATH",
    "TMPDIR",
    "LC_ALL",
    "LIBRARY_PATH",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "CCC_OVERRIDE_OPTIONS",
    "LDEMULATION",
    "LD_RUN_PATH",
    "LD_LIBRARY_PATH",
    "GNUTARGET",
    "SOURCE_DATE_EPOCH",
    "LD_PRELOAD",
];
/// Tables of cargo's configuration that no build depends on, some of which are secret. A missing name: a version is built
/// once more after a change of the table. A superfluous name: as with a missing variable.
pub const UNBUILT_TABLES: [&str; 11] = [
    "alias",
    "cache",
    "cargo-new",
    "credential-alias",
    "doc",
    "future-incompat-report",
    "http",
    "net",
    "registries",
    "registry",
    "term",
];

// Messages of cargo, rustc and linkers, in English as all of them write. They are wrong as soon as a new version words a
// message otherwise.

/// Messages about the network, the disk or the machine instead of the code. Wrong: `log` and `bisect` keep a failure that
/// another attempt would not have, or try again in vain.
pub const PASSING_FAILURES: [&str; 6] = [
    "failed to download",
    "failed to fetch",
    "download of ",
    "spurious network error",
    DISK_FULL,
    "(signal: 9, SIGKILL",
];
/// Message of the system about a full disk. Wrong: the disk's failure is reported as one of the code.
pub const DISK_FULL: &str = "No space left on device";
/// Death of a linker that writes through mapped memory, on a full disk.
pub const BUS_ERROR: &str = "Bus error";
/// First words of cargo's lines about progress. Wrong: the progress line shows less.
pub const PROGRESS_VERBS: [&str; 5] = ["Compiling", "Downloading", "Downloaded", "Updating", "Blocking"];
/// Cargo's last line about a crate that does not compile: "could not compile `demo` (lib test) due to ..". Wrong: test code
/// that does not compile on the other version is not exchanged, and the run fails with cargo's message.
pub const NOT_COMPILED: &str = "could not compile `";
/// Words of that line about test code.
pub const OF_TEST_CODE: [&str; 3] = [" test)", "(test \"", "(bench \""];
/// Cargo's refusal of a runner that is a text here and a list in a file. Wrong: such projects do not build.
pub const RUNNER_CONFLICT: &str = "failed to merge key `runner`";
/// Cargo's message outside of a project. Wrong: the hint of the error is less to the point.
pub const NO_MANIFEST: &str = "could not find `Cargo.toml`";

// Names in code that say what a macro or an attribute of another crate does.

/// Attributes that make a test of a function, by their last name, besides all that end in `_test`. A missing name: tests of
/// that kind are read as code, so that a change of one selects more. A superfluous name: a function counts as a test.
pub const TEST_ATTRIBUTES: [&str; 7] = ["test", "rstest", "test_case", "test_matrix", "quickcheck", "gtest", "bench"];
/// Attributes of derive macros that make no tests, and `tokio::main` with its like. A missing name here or in the next two
/// lists: a file is built to see whether it has tests. A superfluous name: its tests are overlooked.
pub const ATTRIBUTES_WITHOUT_TESTS: [&str; 8] = ["arg", "clap", "command", "error", "group", "main", "serde", "value"];
/// Derive macros that make no tests, besides those of the standard library: of serde, thiserror and clap.
pub const DERIVES_WITHOUT_TESTS: [&str; 7] =
    ["Args", "Deserialize", "Error", "Parser", "Serialize", "Subcommand", "ValueEnum"];
/// Macros of whole items that make no tests.
pub const MACROS_WITHOUT_TESTS: [&str; 3] = ["lazy_static", "macro_rules", "thread_local"];
/// Attributes of code that is called without being named. A missing name: such a function may be reported as executed by no
/// test.
pub const CALLED_FROM_ELSEWHERE: [&str; 6] =
    ["no_mangle", "export_name", "link_section", "ctor", "global_allocator", "panic_handler"];
/// Packages whose macros embed whole folders, which cargo is not told. A missing name: after a change of only such a file a
/// stale program is measured.
pub const EMBEDDING_PACKAGES: [&str; 2] = ["include_dir", "rust-embed"];
/// Functions of the C library that start programs. A missing name: tests whose programs changed may be left out.
pub const C_STARTERS: [&str; 13] = [
    "execl",
    "execle",
    "execlp",
    "execv",
    "execve",
    "execveat",
    "execvp",
    "execvpe",
    "fexecve",
    "popen",
    "posix_spawn",
    "posix_spawnp",
    "system",
];
/// Functions that programs bring along themselves, and that libraries which are not read call. A missing name: a test that
/// reaches a changed one only through such a library is left out. Sorted.
pub const REPLACED_C_FUNCTIONS: [&str; 20] = [
    "aligned_alloc",
    "bcmp",
    "calloc",
    "free",
    "malloc",
    "malloc_usable_size",
    "memalign",
    "memchr",
    "memcmp",
    "memcpy",
    "memmove",
    "memrchr",
    "memset",
    "posix_memalign",
    "pvalloc",
    "realloc",
    "reallocarray",
    "rust_eh_personality",
    "strlen",
    "valloc",
];
/// Methods that put something into a collection, the simplest first. A missing name: a generated call gets an empty
/// collection.
pub const FILLING_METHODS: [&str; 12] = [
    "push",
    "push_back",
    "insert",
    "push_str",
    "add",
    "append",
    "extend",
    "enqueue",
    "write_str",
    "put",
    "extend_from_slice",
    "set",
];
