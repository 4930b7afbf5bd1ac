//! `cargo perfunit clean`.

use crate::source;
use crate::support::Project;

#[test]
fn removes_our_folder_and_nothing_else() {
    let project = Project::library(&source(500), &source(1500));
    project.write("target/other", "not ours");
    project.perfunit(["list", "HEAD~1"]).expect(0);
    assert!(project.path().join("target/perfunit").is_dir());
    project.perfunit(["clean"]).expect(0);
    assert!(!project.path().join("target/perfunit").exists());
    assert!(project.path().join("target/other").exists());
    assert_eq!(project.status(), [""; 0]);
}

#[test]
fn with_nothing_to_clean_there_is_nothing_to_do() {
    let run = Project::library(&source(500), &source(1500)).perfunit(["clean"]).expect(0);
    assert!(run.stderr.contains("Removed nothing: ") && run.stderr.contains("target/perfunit"), "{}", run.stderr);
}
