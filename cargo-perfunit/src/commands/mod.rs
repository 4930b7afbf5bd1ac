//! One short file per subcommand: run the pipeline, print the report, choose the exit code.

mod archive;
mod calibrate;
mod ci;
mod clean;
mod completions;
mod demo;
mod diff;
mod doctor;
mod explain;
mod gate;
mod github;
mod hook;
mod list;
mod man;
mod merge;
mod report;
mod report_files;
mod show_config;

pub use archive::archive;
pub use calibrate::{CalibrateRequest, calibrate};
pub use ci::{CiInit, CiOutput, ci_init};
pub use clean::{CleanOptions, clean};
pub use completions::completions;
pub use demo::demo;
pub use diff::{DiffOutput, diff};
pub use doctor::doctor;
pub use explain::{ExplainView, explain};
pub use gate::{Gate, exit_code};
pub use hook::{DiffRequest, HookInstall, HookRun, PushSource, hook_install, hook_run, hook_status, hook_uninstall};
pub use list::{ListOutput, list};
pub use man::man;
pub use merge::merge;
pub use report::{ReportRequest, ReportView, SavedRun, report};
pub use report_files::ReportFile;
pub use show_config::{ConfigView, show_config};
