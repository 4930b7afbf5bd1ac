//! `cargo perfunit hook`: the `pre-push` hook, installed, looked at, removed and run.

mod install;
mod run;
mod status;

pub use install::{HookInstall, hook_install, hook_uninstall};
pub use run::{DiffRequest, HookRun, PushSource, hook_run};
pub use status::hook_status;
