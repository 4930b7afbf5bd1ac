//! What the command tree does not know: the environment that is read, and the files that are kept. The book's page
//! `docs/environment.md` says the same at more length (a test compares the names).

/// Variables that the tool reads, and what for.
pub const ENVIRONMENT: &[(&str, &str)] = &[
    ("CARGO_TERM_COLOR", "Whether to color: auto, always or never; --color is stronger."),
    ("NO_COLOR, CLICOLOR_FORCE", "Colors off, or on where there is no terminal, if nothing above says otherwise."),
    (
        "PERFUNIT_CACHE_DIR",
        "Where the parts are kept that are built once for each toolchain, and the machine's calibration.",
    ),
    ("PERFUNIT_PROFILE", "Which profile of the configuration to take; --profile is stronger."),
    (
        "PERFUNIT_*",
        "A setting of the configuration by its name, as in PERFUNIT_PER_TEST_BUDGET=2s: stronger than the file, weaker \
        than the option.",
    ),
    ("PERFUNIT_SKIP", "If it is 1, the pre-push hook does nothing."),
    ("PERFUNIT_LOG", "What the tool does, step by step, on standard error: info, debug or another level."),
    ("PERFUNIT_BASE", "What checks in `cargo test` and the script of `ci init generic` compare with."),
    ("GITHUB_ACTIONS", "If it is true, what got slower is annotated, too, and the step's summary is written."),
    ("XDG_CACHE_HOME", "If PERFUNIT_CACHE_DIR is not set, the cache is cargo-perfunit in here, else in ~/.cache."),
    ("RUSTFLAGS, RUSTC_WRAPPER, CARGO_*", "As in any build by cargo, alike for both versions."),
];

/// Files and folders that the tool reads or writes, and what is in them.
pub const FILES: &[(&str, &str)] = &[
    (".config/perfunit.toml", "The configuration of a project, below the workspace's root; read only."),
    (
        ".config/perfunit-ratchet.toml",
        "The version whose speed a project accepts, and accepted losses; `cargo perfunit ratchet` writes it.",
    ),
    (
        "target/perfunit",
        "Everything that belongs to a project: the tree that holds base, then head, their builds, the last runs. \
        `cargo perfunit clean` removes it.",
    ),
    (
        "~/.cache/cargo-perfunit",
        "What is built once for each toolchain, and the machine's calibration. `cargo perfunit clean --cache` removes it.",
    ),
];
