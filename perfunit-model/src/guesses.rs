//! Lists of names and messages that the tool has built in. No specification defines them, and they become outdated.
//!
//! Each list states its purpose and the effect of a wrong entry. A list belongs here if projects or tools can disagree
//! with it. Code that reads a language or file format defines that format's names itself.

// Files that cannot affect a build or a test, by name. They count only if no Rust code mentions the name. A missing
// name: a change of the file selects the tests of its package, like a change of data. A superfluous name: a change of a
// file that tests read without naming it in code is called irrelevant.

/// Files of version control, CI services and development tools.
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
/// Settings of test runners in the folder `.config`.
pub const RUNNER_SETTINGS: [&str; 3] = ["perfunit.toml", "perfunit-ratchet.toml", "nextest.toml"];
/// Prefixes of the names of documents, in capitals.
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
/// Extensions of images for a README or manual.
pub const PICTURE_EXTENSIONS: [&str; 6] = ["png", "svg", "jpg", "jpeg", "gif", "webp"];

// Environment variables that affect builds although no build script declares them. They are part of the key of a stored
// build. A missing name: a stored version may be used although the variable would change it; comparisons stay valid,
// because both sides of a run are built with the same environment. A superfluous name: a version is built again.

/// Prefixes of the names of such variables: cargo's, and those of tools that build scripts often run.
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
/// Programs of a C toolchain and their options, as the `cc` crate reads them: plain, after `HOST_` or `TARGET_`, and
/// before `_` and a triple.
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
/// Variables that determine the machine code of a program, in addition to those of profiles and all that end in
/// `RUSTFLAGS`. Stored results are valid for one value of them.
pub const CODE_VARIABLES: [&str; 4] = ["CARGO_BUILD_TARGET", "CFLAGS", "CXXFLAGS", "RUSTC_BOOTSTRAP"];
/// Variables that affect a linker according to `gcc(1)`, `clang(1)` and `ld(1)`, and those that rustc sets. Repeated
/// links use them. A missing name: a repeated link creates a different program than cargo's. This is detected, and
/// layouts are not matched.
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
/// Tables of cargo's configuration that do not affect builds; some of them are secret. A missing name: a version is
/// built again after a change of the table. A superfluous name: the same as for a missing variable.
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

// Messages of cargo, rustc and linkers, which all write English. An entry is wrong as soon as a new version changes a
// message.

/// Messages about the network, the disk or the machine instead of the code. If wrong, `log` and `bisect` store a
/// temporary failure, or try again without success.
pub const PASSING_FAILURES: [&str; 6] = [
    "failed to download",
    "failed to fetch",
    "download of ",
    "spurious network error",
    DISK_FULL,
    "(signal: 9, SIGKILL",
];
/// The system's message about a full disk. If wrong, the failure is attributed to the code.
pub const DISK_FULL: &str = "No space left on device";
/// Death of a linker with memory-mapped output on a full disk.
pub const BUS_ERROR: &str = "Bus error";
/// First words of cargo's progress lines. If wrong, our progress line shows less.
pub const PROGRESS_VERBS: [&str; 5] = ["Compiling", "Downloading", "Downloaded", "Updating", "Blocking"];
/// Cargo's last line about a crate that does not compile: "could not compile `demo` (lib test) due to ..". If wrong,
/// test code that does not compile on the other version is not exchanged, and the run fails with cargo's message.
pub const NOT_COMPILED: &str = "could not compile `";
/// Parts of this line about test code.
pub const OF_TEST_CODE: [&str; 3] = [" test)", "(test \"", "(bench \""];
/// Cargo's error for a runner that is a string here and a list in a file. If wrong, such projects do not build.
pub const RUNNER_CONFLICT: &str = "failed to merge key `runner`";
/// Cargo's message outside a project. If wrong, the hint is less specific.
pub const NO_MANIFEST: &str = "could not find `Cargo.toml`";

// Names in code that reveal the meaning of another crate's macro or attribute.

/// Attributes that define a test, by their last segment, in addition to all that end in `_test`. A missing name: such
/// tests are read as code, so that their changes select more tests. A superfluous name: a function counts as a test.
pub const TEST_ATTRIBUTES: [&str; 7] = ["test", "rstest", "test_case", "test_matrix", "quickcheck", "gtest", "bench"];
/// Attributes of derive macros that define no tests, and attributes like `tokio::main`. A missing name here or in the
/// next two lists: a file is built to see if it has tests. A superfluous name: its tests are missed.
pub const ATTRIBUTES_WITHOUT_TESTS: [&str; 8] = ["arg", "clap", "command", "error", "group", "main", "serde", "value"];
/// Derive macros of serde, thiserror and clap, which define no tests; those of the standard library need no entry.
pub const DERIVES_WITHOUT_TESTS: [&str; 7] =
    ["Args", "Deserialize", "Error", "Parser", "Serialize", "Subcommand", "ValueEnum"];
/// Item macros that define no tests.
pub const MACROS_WITHOUT_TESTS: [&str; 3] = ["lazy_static", "macro_rules", "thread_local"];
/// Attributes of code that is called without being named. A missing name: such a function may be reported as executed
/// by no test.
pub const CALLED_FROM_ELSEWHERE: [&str; 6] =
    ["no_mangle", "export_name", "link_section", "ctor", "global_allocator", "panic_handler"];
/// Packages with macros that embed folders without declaring them to cargo. A missing name: after a change of such a
/// file only, an outdated program is measured.
pub const EMBEDDING_PACKAGES: [&str; 2] = ["include_dir", "rust-embed"];
/// Functions of the C library that start programs. A missing name: tests of changed programs may be excluded.
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
/// Functions that programs may define themselves and that unread libraries call. A missing name: a test that reaches a
/// changed one only through such a library is excluded. Sorted.
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
/// Methods that add elements to a collection, the simplest first. A missing name: generated calls use an empty
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
