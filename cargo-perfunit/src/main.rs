//! One executable, several roles: cargo's subcommand for people; for cargo the rustc wrapper, rustdoc and the test
//! runner; for rustc the linker; for `doctor` a workload; and for all of them the keeper.

use cargo_perfunit::cli;
use cargo_perfunit::doctor;
use perfunit_build as build;
use perfunit_model::error::{Error, ExitCode, Result};
use perfunit_system::bug;
use perfunit_system::idle;
use perfunit_system::interrupt;
use perfunit_system::log;
use perfunit_system::process;
use std::ffi::OsString;
use std::path::Path;

fn main() -> std::process::ExitCode {
    idle::idle_if_asked();
    process::keep_if_asked();
    bug::end_process();
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    if build::is_link(&name) {
        return build::link(&name, arguments);
    }
    let role = Path::new(&name).file_name().unwrap_or_default().to_os_string();
    let outcome = if role == build::WRAPPER_NAME {
        Err(build::wrap(arguments))
    } else if role == build::RUSTDOC_NAME {
        build::rustdoc(arguments).map(|()| ExitCode::Success)
    } else if doctor::is_workload() {
        doctor::serve_workload()
    } else if std::env::args_os().nth(1).is_some_and(|first| first == build::RUNNER_ARGUMENT) {
        build::capture(arguments.skip(1)).map(|()| ExitCode::Success)
    } else {
        bug::set_ending(|| cli::exit_code(Err(after_panic())));
        subcommand(std::iter::once(name).chain(arguments))
    };
    std::process::ExitCode::from(cli::exit_code(outcome) as u8)
}

/// Returns the error for a panic, which is already printed.
fn after_panic() -> Error {
    Error::new(ExitCode::Internal, "this is a bug in cargo-perfunit")
        .hint("please report it with the message above and the output of `rustc -vV`")
}

fn subcommand(arguments: impl Iterator<Item = OsString>) -> Result<ExitCode> {
    let arguments = cli::parse(arguments);
    log::start()?;
    interrupt::install()?;
    arguments.run()
}
