//! `cargo perfunit report`.

use super::report_files;
use crate::error::{Error, ExitCode, Result};
use crate::model::Run;
use crate::report::{self, DocumentKind, Format, Rendering, saved, schema};
use crate::session::{self, runs};
use crate::system::term::{self, Terminal};
use std::path::PathBuf;

/// Where saved runs are.
#[derive(Debug, Clone)]
pub struct ReportRequest {
    /// Where the user stands.
    pub folder: PathBuf,
    pub manifest: Option<PathBuf>,
    pub target_dir: Option<PathBuf>,
    /// The run that is meant.
    pub run: SavedRun,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SavedRun {
    /// The last one of this workspace.
    Last,
    /// That with this id, or one that begins so.
    Named(String),
    /// In this file, or in the `run.json` of this folder, wherever it comes from.
    At(PathBuf),
}

#[derive(Debug, Clone)]
pub enum ReportView {
    Run {
        /// How it is told.
        format: Format,
        /// What that leaves open.
        rendering: Rendering,
        /// Where to, unless it is printed.
        path: Option<PathBuf>,
    },
    List(saved::ListFormat),
    /// What a document looks like.
    Schema(DocumentKind),
}

/// Tells of saved runs. The verdict is no failure: it is that of the run, not of the report.
pub fn report(request: &ReportRequest, view: &ReportView, terminal: Terminal) -> Result<ExitCode> {
    match view {
        ReportView::Run { format, rendering, path: None } => {
            term::print(&report::render(&find(request)?.1, *format, rendering));
        }
        ReportView::Run { format, rendering, path: Some(path) } => {
            let (saved, run) = find(request)?;
            if path.canonicalize().is_ok_and(|path| saved.canonicalize().is_ok_and(|saved| saved == path)) {
                return Err(Error::usage(format!("the report would replace the saved run {}", path.display()))
                    .hint("name another file with --output"));
            }
            report_files::write(&run, *format, rendering, path)?;
            terminal.status("Wrote", &path.display().to_string());
        }
        ReportView::Schema(kind) => term::print(&schema::render(*kind)),
        ReportView::List(format) => term::print(&saved::render(&list(request)?, *format)),
    }
    Ok(ExitCode::Success)
}

/// The run that is meant, with its file.
fn find(request: &ReportRequest) -> Result<(PathBuf, Run)> {
    let ours = || session::home(&request.folder, request.manifest.as_deref(), request.target_dir.as_deref());
    let at = |path: PathBuf| runs::read(&path).map(|record| (path, record));
    let (path, record) = match &request.run {
        SavedRun::Last => runs::last(&ours()?),
        SavedRun::Named(name) => runs::named(&ours()?, name),
        SavedRun::At(path) if path.is_dir() => at(path.join(runs::FILE)),
        SavedRun::At(path) => at(path.clone()),
    }?;
    Ok((path, record.run))
}

/// Every saved run, or why it cannot be read, the last one first.
fn list(request: &ReportRequest) -> Result<Vec<saved::Saved>> {
    let ours = session::home(&request.folder, request.manifest.as_deref(), request.target_dir.as_deref())?;
    let entry = |path: PathBuf| {
        let run = runs::read(&path).map(|record| record.run);
        saved::Saved { id: runs::id_of(&path), path, run }
    };
    Ok(runs::all(&ours)?.into_iter().rev().map(entry).collect())
}
