//! The wording of everything that can be wrong with a repository.

use git2::ErrorCode;
use perfunit_model::error::Error;
use std::path::Path;

pub(super) const FETCH_MORE: &str = "the clone is shallow: run `git fetch --unshallow`, in GitHub Actions set `fetch-depth: 0` for actions/checkout, \
     in GitLab CI set `GIT_DEPTH: 0`";

/// Any failure of libgit2 that has no better words.
pub(super) fn failed(doing: impl Into<String>) -> impl FnOnce(git2::Error) -> Error {
    let doing = doing.into();
    move |error| Error::setup(format!("cannot {doing}: {}", error.message()))
}

/// No repository could be opened for `start`.
pub(super) fn not_opened(start: &Path, error: &git2::Error) -> Error {
    let start = start.display();
    match error.code() {
        ErrorCode::NotFound => Error::setup(format!("{start} is not in a git repository"))
            .hint("versions are read from git: run `git init` and commit, or name a crate in a repository with --manifest-path"),
        ErrorCode::Owner => Error::setup(format!("git does not trust the repository of {start}: it belongs to another user"))
            .hint("trust it with `git config --global --add safe.directory <its root>`, as git itself demands"),
        _ => match UNREADABLE_FORMATS.iter().find(|format| error.message().contains(format.mark)) {
            Some(format) => Error::setup(format!("the git repository of {start} {}", format.said)).hint(format.hint),
            None => Error::setup(format!("cannot open the git repository of {start}: {}", error.message())),
        },
    }
}

/// A format of repositories that libgit2 1.9 does not read.
struct UnreadableFormat {
    /// What libgit2's error contains.
    mark: &'static str,
    said: &'static str,
    hint: &'static str,
}

const UNREADABLE_FORMATS: [UnreadableFormat; 2] = [
    UnreadableFormat {
        mark: "extensions.refstorage",
        said: "stores its refs in the reftable format, which this tool cannot read",
        hint: "`git refs migrate --ref-format=files` converts it (git 2.46 or newer); or run this in a clone made with \
               `git clone --ref-format=files`",
    },
    UnreadableFormat {
        mark: "object format 'sha256'",
        said: "uses SHA-256 object names, which this tool cannot read",
        hint: "run this in a copy with SHA-1 names: `git init --object-format=sha1 COPY`, then \
               `git fast-export --all | git -C COPY fast-import` and `git -C COPY checkout BRANCH`",
    },
];

/// Git cannot convert files as on checkout.
pub(super) fn not_filtered(said: &str) -> Error {
    let lines =
        said.lines().filter(|line| !line.starts_with("warning: ")).map(|line| line.trim_start_matches("fatal: "));
    let lines: Vec<&str> = lines.collect();
    Error::setup(format!("git cannot check out the files of a version:\n{}", lines.join("\n"))).hint(
        "a filter that is `required` must work, as for `git checkout`: unlock or install it, or correct \
               `filter.<name>.smudge` in git's configuration",
    )
}

/// A repository without files to compare.
pub(super) fn bare(repository: &Path) -> Error {
    Error::setup(format!("{} is a bare repository, without a working tree", repository.display()))
        .hint("run this in a clone or in a linked worktree (`git worktree add <folder>`)")
}

/// `HEAD` names a branch without commits.
pub(super) fn no_commits() -> Error {
    Error::setup("the repository has no commits yet: there is nothing to compare with")
        .hint("commit once, change something, and run this again")
}

/// A revision that does not exist; `near` are names that do.
pub(super) fn unknown_revision(name: &str, near: &[String], shallow: bool) -> Error {
    let error = Error::setup(format!("unknown revision `{name}`"));
    let hint = match near {
        [] if shallow => FETCH_MORE.to_owned(),
        [] => "`git fetch` brings what the remote has; `git branch --all` lists what is here".to_owned(),
        names => format!("did you mean `{}`?", names.join("` or `")),
    };
    let may_be_a_test = name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == ':');
    let of_tests = format!("; tests with this in their names: `-E 'test({name})'`");
    error.hint(if may_be_a_test { hint + &of_tests } else { hint })
}

/// A short commit id or name that fits several objects.
pub(super) fn ambiguous_revision(name: &str) -> Error {
    Error::setup(format!("revision `{name}` is ambiguous"))
        .hint("write more digits of the commit id, or the full name of the ref")
}

/// A revision that is a file or a folder.
pub(super) fn not_a_commit(name: &str) -> Error {
    Error::setup(format!("`{name}` is not a commit")).hint("name a branch, a tag or a commit id")
}

/// Two commits without a common ancestor.
pub(super) fn no_merge_base(base: &str, head: &str, shallow: bool) -> Error {
    let error = Error::setup(format!("`{base}` and `{head}` have no common ancestor here"));
    if shallow {
        error.hint(FETCH_MORE)
    } else {
        error.hint(format!("`{base}..{head}` compares the two commits as they are"))
    }
}

/// The commits of a range end where the clone does.
pub(super) fn too_shallow() -> Error {
    Error::setup("the range has commits that this clone does not have").hint(FETCH_MORE)
}

/// The parent of the only commit that there is.
pub(super) fn no_parent(head: &str, shallow: bool) -> Error {
    if shallow {
        Error::setup(format!("the parent of `{head}` is missing")).hint(FETCH_MORE)
    } else {
        Error::setup(format!("`{head}` is the first commit: there is nothing to compare with"))
            .hint("change something, or name the version to compare with")
    }
}

/// A blob or tree that the object database should hold.
pub(super) fn missing_object(what: &str, error: &git2::Error) -> Error {
    let failure = Error::setup(format!("cannot read {what}: {}", error.message()));
    if error.code() == ErrorCode::NotFound {
        failure.hint(
            "in a partial clone (`--filter`), `git diff --stat <base> <head>` fetches what both versions need; \
             otherwise `git fsck` shows what is damaged",
        )
    } else {
        failure
    }
}

/// The index or the working tree could not be read.
pub(super) fn no_status(error: &git2::Error) -> Error {
    let failure = Error::setup(format!("cannot read the state of the working tree: {}", error.message()));
    // Extensions of the index that libgit2 1.9 does not read: `sdir` (sparse index) and `link` (split index).
    if error.message().contains("mandatory extension") {
        failure.hint("`git sparse-checkout reapply --no-sparse-index` and `git update-index --no-split-index` write a plain index")
    } else {
        failure
    }
}

/// A tree entry that git itself refuses to check out.
pub(super) fn hostile_name(path: &Path) -> Error {
    Error::setup(format!("the version holds a file named `{}`", path.display()))
        .hint("git refuses such trees; `git fsck` shows which commit brought it")
}

/// A large file of the working tree that is no longer what it was when the run began.
pub(super) fn changed_meanwhile(path: &Path) -> Error {
    Error::setup(format!("{} changed while it was being compared", path.display()))
        .hint("run again when nothing writes to the working tree")
}
