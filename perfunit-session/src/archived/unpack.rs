//! `diff --use-archive`: checks that an archive matches the options, and unpacks its files to where `diff` looks for
//! them.

use super::manifest::{Archive, Asked, DISPATCHER, Manifest, PARTS, compilers};
use crate::options::Options;
use perfunit_build as build;
use perfunit_build::{NoDispatcher, SideBuild};
use perfunit_explain::Explaining;
use perfunit_model::error::{Error, Result};
use perfunit_model::{Explain, Side, Sides, VersionName};
use perfunit_project::cargo::Context;
use perfunit_project::git::{Request, Versions};
use perfunit_system::archive as packed;
use perfunit_system::{cache, fs};
use std::path::{Path, PathBuf};

/// Top-level entries that an archive may contain.
const FOLDERS: [&str; 4] = ["sides", "selection", "parts", "Cargo.lock"];

/// Returns the options with those that the archive determines: the versions, if none are named, and all options of
/// builds.
pub fn adopt(options: &Options) -> Result<Options> {
    let Some(file) = &options.archive else { return Ok(options.clone()) };
    if options.explaining.explain == Explain::Always {
        return Err(Error::usage("`--explain always` cannot be used with `--use-archive`: it needs another build")
            .hint("use `--explain never`, and run `cargo perfunit explain` where both versions can be built"));
    }
    if options.growth {
        return Err(Error::usage("`--growth` cannot be used with `--use-archive`: it needs another build").hint(
            "remove it, or set `PERFUNIT_GROWTH=false` if the configuration enables it; use another job for growth",
        ));
    }
    let Manifest { asked, versions, .. } = Manifest::read(file)?;
    let typed = Asked::of(options);
    let neutral = Asked::of(&Options::new(PathBuf::new(), Request::default()));
    let differs = [
        ("the selection of packages and targets", typed.scope != neutral.scope && typed.scope != asked.scope),
        ("--all-tests", typed.all_tests && !asked.all_tests),
        ("the list of cargo options", typed.build != neutral.build && typed.build != asked.build),
    ];
    if let Some((what, _)) = differs.into_iter().find(|(_, differs)| *differs) {
        return Err(Error::usage(format!("{} was created with other options: {what} differs", file.display()))
            .hint("remove these options, which the archive determines; test filters and --partition are allowed"));
    }
    let request = if typed.request == Request::default() { exactly(&versions, asked.request) } else { typed.request };
    Ok(Options {
        request,
        scope: asked.scope,
        all_tests: asked.all_tests,
        build: asked.build,
        explaining: Explaining { explain: Explain::Never, ..options.explaining },
        ..options.clone()
    })
}

/// Returns a request for exactly the archived commits, whatever branches point to here. Uncommitted changes must be
/// present here too.
fn exactly(versions: &Sides<VersionName>, request: Request) -> Request {
    let commit = |version: &VersionName| Some(version.commit.clone()).filter(|_| !version.dirty);
    match (commit(&versions.base), commit(&versions.head)) {
        (Some(base), Some(head)) => Request::Range { base, head: Some(head) },
        _ => request,
    }
}

/// Unpacks the archive into our folder, completely or not at all, and takes the versions' names from it.
pub fn install(context: &Context, versions: &mut Versions, file: &Path) -> Result<Archive> {
    let manifest = Manifest::read(file)?;
    check(context, versions, &manifest, file)?;
    let draft = cache::temporary(&context.ours).join(format!("archive-{}", std::process::id()));
    fs::remove_dir_all(&draft)?;
    let installed = packed::unpack(file, &draft).and_then(|()| put(&context.ours, &draft, &manifest, file));
    fs::remove_dir_all(&draft)?;
    installed?;
    (versions.sides.base.name, versions.sides.head.name) = (manifest.versions.base, manifest.versions.head);
    Ok(Archive::Using { file: file.to_owned(), recipes: manifest.recipes })
}

/// Checks that the archived builds equal those that this machine would make.
fn check(context: &Context, versions: &Versions, manifest: &Manifest, file: &Path) -> Result<()> {
    let other = |what: String, hint: &str| Err(Error::usage(format!("{} {what}", file.display())).hint(hint));
    if manifest.compiler != compilers(context) {
        let release = manifest.compiler.lines().next().unwrap_or_default();
        let what = format!("was created with {release}, but this is {}", context.rustc());
        return other(what, "use the same toolchain on all machines, for example by a rust-toolchain.toml");
    }
    for (what, there, here) in [
        ("the target folder", &manifest.ours, &context.ours),
        ("the toolchain", &manifest.sysroot, &context.cargo.sysroot),
    ] {
        if there != here {
            let what = format!("was created with {what} at {}, but here it is at {}", there.display(), here.display());
            let hint = "executables contain the paths of their build: use equal paths on all machines, in containers or with links \
                        (RUSTUP_HOME for the toolchain)";
            return other(what, hint);
        }
    }
    let contents = versions.contents();
    for side in Side::BOTH {
        if contents.get(side) != manifest.contents.get(side) {
            let (there, here) = (manifest.versions.get(side), &versions.sides.get(side).name);
            let what = format!("is of another {side}: {there} there, {here} here");
            let hint = "remove BASE and `--head` to compare the archived versions, or create the archive again; uncommitted changes \
                        have to be the same on all machines";
            return other(what, hint);
        }
    }
    Ok(())
}

/// Moves the unpacked files to their place. A side's folder is moved as a whole.
fn put(ours: &Path, draft: &Path, manifest: &Manifest, file: &Path) -> Result<()> {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_owned();
    for path in fs::list_dir(draft)? {
        if !FOLDERS.iter().any(|known| name(&path) == *known) {
            return Err(Error::usage(format!(
                "{} was not created by cargo-perfunit: it contains `{}`",
                file.display(),
                name(&path).display()
            )));
        }
    }
    for recipe in &manifest.recipes {
        for side in recipe.sides() {
            if !draft.join("sides").join(side).is_dir() {
                return Err(Error::usage(format!("{} is incomplete: build `{side}` is missing", file.display()))
                    .hint("create it again with `cargo perfunit archive`"));
            }
        }
    }
    let dispatcher = draft.join(PARTS).join(DISPATCHER);
    let exists = dispatcher.exists();
    let dispatcher = exists.then_some(dispatcher).ok_or_else(|| NoDispatcher("the archive has none".to_owned()));
    for side in fs::list_dir(&draft.join("sides"))? {
        let place = ours.join("sides").join(name(&side));
        fs::remove_dir_all(&place)?;
        fs::create_dir_all(&ours.join("sides"))?;
        fs::rename(&side, &place)?;
        build::stand_in(ours, &SideBuild::open(&place)?, &dispatcher)?;
    }
    move_files(draft, ours)
}

/// Moves files one by one, because other runs have files in the same folder.
fn move_files(from: &Path, to: &Path) -> Result<()> {
    for path in fs::list_dir(from)? {
        let place: PathBuf = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            fs::create_dir_all(&place)?;
            move_files(&path, &place)?;
        } else {
            fs::rename(&path, &place)?;
        }
    }
    Ok(())
}
