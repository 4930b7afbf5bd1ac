//! Errors about the state of a repository.

use git2::ErrorCode;
use perfunit_model::error::Error;
use std::path::Path;

pub(super) const FETCH_MORE: &str = "the clone is shallow: run `git fetch --unshallow`; in GitHub Actions set `fetch-depth: 0` for actions/checkout; \
     in GitLab CI set `GIT_DEPTH: 0`";

/// Builds an error for a failure of libgit2 that needs no special message.
pub(super) fn git_error(doing: impl Into<String>) -> impl FnOnce(git2::Error) -> Error {
    let doing = doing.into();
    move |error| Error::setup(format!("cannot {doing}: {}", error.message()))
}

/// Builds an error for a folder without a repository that can be opened.
pub(super) fn not_opened(start: &Path, error: &git2::Error) -> Error {
    let start = start.display();
    match error.code() {
        ErrorCode::NotFound => Error::setup(format!("{start} is not in a git repository"))
            .hint("cargo-perfunit compares git revisions: run `git init` and commit, or pass --manifest-path for a crate in a repository"),
        ErrorCode::Owner => Error::setup(format!("git does not trust the repository of {start}: it belongs to another user"))
            .hint("to trust it, run `git config --global --add safe.directory <its root>`"),
        _ => match UNREADABLE_FORMATS.iter().find(|format| error.message().contains(format.mark)) {
            Some(format) => Error::setup(format!("the git repository of {start} {}", format.said)).hint(format.hint),
            None => Error::setup(format!("cannot open the git repository of {start}: {}", error.message())),
        },
    }
}

/// A repository format that libgit2 1.9 does not support.
struct UnreadableFormat {
    /// Text in libgit2's error.
    mark: &'static str,
    said: &'static str,
    hint: &'static str,
}

const UNREADABLE_FORMATS: [UnreadableFormat; 2] = [
    UnreadableFormat {
        mark: "extensions.refstorage",
        said: "stores its refs in the reftable format, which cargo-perfunit cannot read",
        hint: "convert it with `git refs migrate --ref-format=files` (git 2.46 or newer), or use a clone made with \
               `git clone --ref-format=files`",
    },
    UnreadableFormat {
        mark: "object format 'sha256'",
        said: "uses SHA-256 object names, which cargo-perfunit cannot read",
        hint: "use a copy with SHA-1 object names: `git init --object-format=sha1 COPY`, then \
               `git fast-export --all | git -C COPY fast-import` and `git -C COPY checkout BRANCH`",
    },
];

/// Builds an error for files that git cannot convert as on checkout.
pub(super) fn not_filtered(said: &str) -> Error {
    let lines =
        said.lines().filter(|line| !line.starts_with("warning: ")).map(|line| line.trim_start_matches("fatal: "));
    let lines: Vec<&str> = lines.collect();
    Error::setup(format!("git cannot check out the files of a version:\n{}", lines.join("\n"))).hint(
        "a `required` filter must work, as for `git checkout`: unlock or install it, or fix \
               `filter.<name>.smudge` in git's configuration",
    )
}

/// Builds an error for a bare repository.
pub(super) fn bare(repository: &Path) -> Error {
    Error::setup(format!("{} is a bare repository, without a working tree", repository.display()))
        .hint("run cargo-perfunit in a clone or in a linked worktree (`git worktree add <folder>`)")
}

/// Builds an error for a `HEAD` branch without commits.
pub(super) fn no_commits() -> Error {
    Error::setup("the repository has no commits yet, so there is nothing to compare with")
        .hint("commit once, make a change, and run again")
}

/// Meaning of a word that is not a known revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Revision,
    /// A positional argument, which may also be a part of a test's name.
    RevisionOrTests,
}

/// Builds an error for a revision that does not exist. `near` lists similar names.
pub(super) fn unknown_revision(name: &str, word: Word, near: &[String], shallow: bool) -> Error {
    let error = Error::setup(format!("unknown revision `{name}`"));
    let hint = match near {
        [] if shallow => FETCH_MORE.to_owned(),
        [] => "`git fetch` updates remote branches; `git branch --all` lists the branches available here".to_owned(),
        names => format!("did you mean `{}`?", names.join("` or `")),
    };
    let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == ':');
    let may_be_a_test = word == Word::RevisionOrTests && is_name;
    let of_tests = format!("; to select tests by name, use `-E 'test({name})'`");
    error.hint(if may_be_a_test { hint + &of_tests } else { hint })
}

/// Builds an error for a short commit ID or name that matches several objects.
pub(super) fn ambiguous_revision(name: &str) -> Error {
    Error::setup(format!("revision `{name}` is ambiguous"))
        .hint("use more digits of the commit ID, or the full name of the ref")
}

/// Builds an error for a revision that is a file or a folder.
pub(super) fn not_a_commit(name: &str) -> Error {
    Error::setup(format!("`{name}` is not a commit")).hint("use a branch, a tag or a commit ID")
}

/// Builds an error for two commits without a common ancestor.
pub(super) fn no_merge_base(base: &str, head: &str, shallow: bool) -> Error {
    let error = Error::setup(format!("`{base}` and `{head}` have no common ancestor"));
    if shallow {
        error.hint(FETCH_MORE)
    } else {
        error.hint(format!("`{base}..{head}` compares the two commits as they are"))
    }
}

/// Builds an error for a range that reaches beyond the commits of a shallow clone.
pub(super) fn too_shallow() -> Error {
    Error::setup("the range contains commits that this clone does not have").hint(FETCH_MORE)
}

/// Builds an error for a commit without a parent.
pub(super) fn no_parent(head: &str, shallow: bool) -> Error {
    if shallow {
        Error::setup(format!("the parent of `{head}` is missing")).hint(FETCH_MORE)
    } else {
        Error::setup(format!("`{head}` is the first commit and has no parent to compare with"))
            .hint("make a change, or pass the revision to compare with")
    }
}

/// Builds an error for a blob or tree that is missing from the object database.
pub(super) fn missing_object(what: &str, error: &git2::Error) -> Error {
    let failure = Error::setup(format!("cannot read {what}: {}", error.message()));
    if error.code() == ErrorCode::NotFound {
        failure.hint(
            "in a partial clone (`--filter`), run `git diff --stat <base> <head>` to fetch the missing objects; \
             otherwise run `git fsck` to find the damage",
        )
    } else {
        failure
    }
}

/// Builds an error for an index or working tree that cannot be read.
pub(super) fn no_status(error: &git2::Error) -> Error {
    let failure = Error::setup(format!("cannot read the state of the working tree: {}", error.message()));
    // libgit2 1.9 does not support the index extensions `sdir` (sparse index) and `link` (split index).
    if error.message().contains("mandatory extension") {
        failure.hint("run `git sparse-checkout reapply --no-sparse-index` or `git update-index --no-split-index` to write a plain index")
    } else {
        failure
    }
}

/// Builds an error for a tree entry that git refuses to check out.
pub(super) fn hostile_name(path: &Path) -> Error {
    Error::setup(format!("the version contains a file named `{}`", path.display()))
        .hint("git refuses such trees; run `git fsck` to find the commit")
}

/// Builds an error for a large file of the working tree that changed during the run.
pub(super) fn changed_meanwhile(path: &Path) -> Error {
    Error::setup(format!("{} changed during the comparison", path.display()))
        .hint("run again while nothing writes to the working tree")
}
