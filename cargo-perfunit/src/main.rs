//! One executable, several roles: cargo's subcommand for people; for cargo the rustc wrapper and the test runner; for
//! rustc the linker; for measured tests the stand-in of the package's binaries; for `doctor` a workload; for all of them
//! the keeper.

use cargo_perfunit::cli::{self, Command};
use cargo_perfunit::commands::{self, DiffOutput, ListOutput};
use cargo_perfunit::error::{Error, ExitCode, Result};
use cargo_perfunit::term::{self, Terminal};
use cargo_perfunit::{build, doctor, interrupt, process};
use std::ffi::OsString;
use std::path::Path;

fn main() -> std::process::ExitCode {
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    if build::is_link(&name) {
        return build::link(&name, arguments);
    }
    let role = Path::new(&name).file_name().unwrap_or_default().to_os_string();
    let outcome = if role == process::KEEPER_NAME {
        process::keep()
    } else if role == build::WRAPPER_NAME {
        Err(build::wrap(arguments))
    } else if doctor::is_workload() {
        doctor::serve_workload()
    } else if build::is_dispatched() {
        Err(build::dispatch(arguments))
    } else if std::env::args_os().nth(1).is_some_and(|first| first == build::RUNNER_ARGUMENT) {
        build::capture(arguments.skip(1)).map(|()| ExitCode::Success)
    } else {
        std::panic::catch_unwind(|| subcommand(std::iter::once(name).chain(arguments))).unwrap_or_else(|_| Err(bug()))
    };
    let code = outcome.unwrap_or_else(|error: Error| {
        if interrupt::requested() {
            // Whatever failed, it is because Ctrl-C ended what we had started.
            term::error("interrupted before anything was measured");
            return ExitCode::Interrupted;
        }
        term::error(&error.to_string());
        error.code()
    });
    std::process::ExitCode::from(code as u8)
}

/// The panic's message is on the screen by now.
fn bug() -> Error {
    Error::new(ExitCode::Internal, "this is a bug of cargo-perfunit")
        .hint("please report it with the message above and the output of `rustc -vV`")
}

fn subcommand(arguments: impl Iterator<Item = OsString>) -> Result<ExitCode> {
    let arguments = cli::parse(arguments);
    interrupt::install()?;
    match arguments.command {
        Command::Diff(arguments) => {
            let terminal = cli::terminal(&arguments.common);
            let output = DiffOutput {
                json: arguments.message_format == cli::MessageFormat::Json,
                verbose: arguments.common.verbose > 0,
                fail_without_tests: arguments.no_tests == cli::NoTests::Fail,
                deny_inconclusive: !arguments.deny.is_empty(),
            };
            commands::diff(&cli::diff_options(&arguments)?, output, terminal)
        }
        Command::Explain(arguments) => {
            let (terminal, json) =
                (cli::explain_terminal(&arguments), arguments.message_format == cli::MessageFormat::Json);
            commands::explain(&cli::explain_request(&arguments)?, &cli::explain_view(&arguments), json, terminal)
        }
        Command::List(arguments) => {
            let terminal = cli::terminal(&arguments.common);
            let output = ListOutput {
                json: arguments.message_format == cli::MessageFormat::Json,
                all: arguments.all,
                why: arguments.why.clone(),
                explain_none: arguments.explain_none,
            };
            commands::list(&cli::list_options(&arguments)?, &output, terminal)
        }
        Command::Calibrate(arguments) => {
            let (terminal, json) =
                (cli::calibrate_terminal(&arguments), arguments.message_format == cli::MessageFormat::Json);
            commands::calibrate(cli::calibrate_request(&arguments), json, terminal)
        }
        Command::Clean(arguments) => commands::clean(&cli::clean_options(&arguments)?, Terminal::default()),
        Command::Doctor(arguments) => {
            term::set_color(arguments.color);
            let json = arguments.message_format == cli::MessageFormat::Json;
            commands::doctor(&cli::folder()?, json, Terminal::default())
        }
        Command::Demo(arguments) => commands::demo(arguments.folder.as_deref(), Terminal::default()),
    }
}
