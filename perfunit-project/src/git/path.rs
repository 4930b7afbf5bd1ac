//! Paths of files relative to the repository's root, as text with slashes.

use std::path::Path;

/// Checks whether the path is that of a Rust file.
pub fn is_rust(path: impl AsRef<Path>) -> bool {
    path.as_ref().extension().is_some_and(|extension| extension == "rs")
}

/// Returns the folder of a file; empty at the root.
pub fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Checks whether a path is inside a folder.
pub fn is_below(path: &str, dir: &str) -> bool {
    within(path, dir).is_some()
}

/// Returns the path relative to the folder, if it is inside.
pub fn within<'a>(path: &'a str, dir: &str) -> Option<&'a str> {
    if dir.is_empty() { Some(path) } else { path.strip_prefix(dir)?.strip_prefix('/') }
}

/// Joins a folder and a relative path. Returns `None` if the result leaves the repository.
pub fn join(folder: &str, relative: &str) -> Option<String> {
    let mut segments: Vec<&str> = folder.split('/').filter(|segment| !segment.is_empty()).collect();
    if relative.starts_with('/') {
        return None;
    }
    for segment in relative.split(['/', '\\']) {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()?),
            segment => segments.push(segment),
        }
    }
    Some(segments.join("/"))
}
