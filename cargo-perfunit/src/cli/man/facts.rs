//! Facts outside the command tree: variables of the environment, and files. `docs/environment.md` describes them at
//! more length (a test compares the names).

/// Variables that the tool reads, with their meaning.
pub const ENVIRONMENT: &[(&str, &str)] = &[
    ("CARGO_TERM_COLOR", "Coloring: auto, always or never; --color takes precedence."),
    ("NO_COLOR, CLICOLOR_FORCE", "Disable colors, or enable them without a terminal, unless set otherwise above."),
    ("PERFUNIT_CACHE_DIR", "Folder for the parts that are built once per toolchain, and the machine's calibration."),
    (
        "PERFUNIT_LAYOUT",
        "If natural, code keeps the linker's placement: quicker, but only changes of at least 15 % count. For experiments.",
    ),
    ("PERFUNIT_PROFILE", "Profile of the configuration; --profile takes precedence."),
    (
        "PERFUNIT_*",
        "A setting of the configuration by its name, as in PERFUNIT_PER_TEST_BUDGET=2s: stronger than the file, weaker \
        than the option.",
    ),
    ("PERFUNIT_SKIP", "If set and not 0, the pre-push hook does nothing."),
    ("PERFUNIT_LOG", "Log level on standard error: info, debug or another level."),
    ("PERFUNIT_BASE", "Base of checks in `cargo test` and of the script from `ci init generic`."),
    ("GITHUB_ACTIONS", "If true, regressions are annotated and the step's summary is written."),
    (
        "XDG_CACHE_HOME",
        "Parent of the cache folder cargo-perfunit if PERFUNIT_CACHE_DIR is not set; default: ~/.cache.",
    ),
    ("RUSTFLAGS, RUSTC_WRAPPER, CARGO_*", "As in all builds by cargo, the same for both versions."),
];

/// Files and folders that the tool reads or writes, with their content.
pub const FILES: &[(&str, &str)] = &[
    (".config/perfunit.toml", "The configuration of a project, below the workspace's root; read only."),
    (
        ".config/perfunit-ratchet.toml",
        "The project's baseline and its accepted losses; `cargo perfunit ratchet` writes it.",
    ),
    (
        "target/perfunit",
        "Everything that belongs to a project: the tree that holds base, then head, their builds, the last runs. \
        `cargo perfunit clean` removes it.",
    ),
    (
        "~/.cache/cargo-perfunit",
        "Parts that are built once per toolchain, and the machine's calibration. `cargo perfunit clean --cache` removes them.",
    ),
];
