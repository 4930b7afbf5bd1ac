//! Tests that start programs of the package: the code that they execute there decides whether they are measured.

use crate::support::{Project, Run, refuse, skipped};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns a program with a changed function, a changed table, and paths that avoid both.
fn tool(rounds: u32) -> String {
    format!(
        r#"
static TABLE: [u64; 4] = [1, 2, 3, {rounds}];
#[inline(never)]
fn walk(seed: u64) -> u64 {{
    (0..{rounds}).fold(seed | 1, |state, round| (state ^ state << 13 ^ state >> 7).wrapping_add(round))
}}
#[inline(never)]
fn look_up(index: usize) -> u64 {{
    TABLE[std::hint::black_box(index) % TABLE.len()]
}}
#[inline(never)]
fn idle(seed: u64) -> u64 {{
    (0..100).fold(seed | 1, |state, round| (state ^ state << 9 ^ state >> 5).wrapping_add(round))
}}
fn in_threads(work: fn(u64) -> u64) -> u64 {{
    let threads: Vec<_> = (0..4).map(|seed| std::thread::spawn(move || work(seed))).collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).fold(0, u64::wrapping_add)
}}
fn main() {{
    let seed = std::env::args().len() as u64;
    let number = match std::env::args().nth(1).as_deref() {{
        Some("walk") => walk(seed),
        Some("walk-in-threads") => in_threads(walk),
        Some("table") => look_up(seed as usize),
        Some("idle-in-threads") => in_threads(idle),
        Some("sleep") => {{
            std::thread::sleep(std::time::Duration::from_secs(60));
            idle(seed)
        }}
        _ => idle(seed),
    }};
    println!("{{number}}");
}}
"#
    )
}

/// A program that becomes the tool in the same folder.
const WRAPPER: &str = r#"
fn main() {
    use std::os::unix::process::CommandExt;
    let tool = std::env::current_exe().unwrap().with_file_name("tool");
    panic!("{}", std::process::Command::new(tool).args(std::env::args().skip(1)).exec());
}
"#;

/// A program that is equal in both versions.
const STEADY: &str = r#"fn main() { println!("steady"); }"#;

const TESTS: &str = r##"
use std::path::PathBuf;
use std::process::{Command, Stdio};

const TOOL: &str = env!("CARGO_BIN_EXE_tool");

fn beside(name: &str) -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().join(name)
}

fn in_temporary_folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("{name}-{}", std::process::id()))
}

#[track_caller]
fn run(command: &mut Command) {
    assert!(command.stdout(Stdio::null()).status().unwrap().success());
}

fn script(way: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = in_temporary_folder(way);
    std::fs::write(&path, format!("#!/bin/sh\ncd /\n({TOOL} {way})\n")).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path
}

fn copy(of: &std::path::Path, more: &[u8]) -> PathBuf {
    use std::io::Write;
    let path = in_temporary_folder("copy");
    let length = |path: &std::path::Path| path.metadata().map(|data| data.len()).ok();
    if length(&path) == length(of) {
        return path;
    }
    let _ = std::fs::remove_file(&path);
    std::fs::copy(of, &path).unwrap();
    if !more.is_empty() {
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(more).unwrap();
    }
    path
}

mod walks {
    use super::*;
    #[test] fn by_the_variable() { run(Command::new(TOOL).arg("walk")); }
    #[test] fn by_its_place() { run(Command::new(beside("tool")).arg("walk")); }
    #[test] fn through_a_shell() { run(Command::new("sh").arg("-c").arg(format!("true; {TOOL} walk | cat; true"))); }
    #[test] fn through_a_script() { run(&mut Command::new(script("walk"))); }
    #[test] fn through_another_program() { run(Command::new(env!("CARGO_BIN_EXE_wrapper")).arg("walk")); }
    #[test] fn without_environment() { run(Command::new(TOOL).arg("walk").env_clear()); }
    #[test] fn in_threads() { run(Command::new(TOOL).arg("walk-in-threads")); }
    #[test] fn in_a_session_of_its_own() { run(Command::new("setsid").args(["-w", TOOL, "walk"])); }
    #[test] fn in_a_copy_of_what_the_variable_names() { run(Command::new(copy(TOOL.as_ref(), &[])).arg("walk")); }
    #[test] fn in_a_copy() { run(Command::new(copy(&beside("tool"), &[])).arg("walk")); }
    #[test] fn as_the_last_of_many() {
        (0..20).for_each(|_| run(Command::new(TOOL).arg("idle")));
        run(Command::new(TOOL).arg("walk"));
    }
}

mod looks_up {
    use super::*;
    #[test] fn in_the_table() { run(Command::new(TOOL).arg("table")); }
}

mod idles {
    use super::*;
    #[test] fn alone() { std::hint::black_box(1); }
    #[test] fn in_the_tool() { run(Command::new(TOOL).arg("idle")); }
    #[test] fn in_threads() { run(Command::new(TOOL).arg("idle-in-threads")); }
    #[test] fn by_its_place() { run(Command::new(beside("tool")).arg("idle")); }
    #[test] fn through_a_script() { run(&mut Command::new(script("idle"))); }
    #[test] fn through_another_program() { run(Command::new(env!("CARGO_BIN_EXE_wrapper")).arg("idle")); }
    #[test] fn in_a_copy_of_what_the_variable_names() { run(Command::new(copy(TOOL.as_ref(), &[])).arg("idle")); }
    #[test] fn in_a_program_that_is_the_same() { run(&mut Command::new(env!("CARGO_BIN_EXE_steady"))); }
    #[test] fn in_a_program_of_the_system() { run(&mut Command::new("true")); }
    #[test] fn in_many_processes() {
        let many = (0..8).map(|_| Command::new(TOOL).arg("idle-in-threads").stdout(Stdio::null()).spawn().unwrap());
        many.collect::<Vec<_>>().into_iter().for_each(|mut one| assert!(one.wait().unwrap().success()));
    }
    #[test] fn in_one_that_it_kills() {
        let mut child = Command::new(TOOL).arg("sleep").stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(300));
        child.kill().unwrap();
    }
}

mod unknown {
    use super::*;
    #[test] fn reads_it() { assert!(!std::fs::read(beside("tool")).unwrap().is_empty()); }
    #[test] fn starts_it_through_the_dynamic_linker() {
        let places = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
        match places.iter().find(|place| std::path::Path::new(place).exists()) {
            Some(linker) => run(Command::new(linker).arg(beside("tool")).arg("walk")),
            None => drop(std::fs::read(beside("tool"))),
        }
    }
    #[test] fn starts_a_changed_copy() { run(Command::new(copy(&beside("tool"), b"more")).arg("walk")); }
    #[test] fn leaves_it_behind() {
        drop(Command::new(TOOL).arg("sleep").stdout(Stdio::null()).spawn().unwrap());
        // The tool starts before the test ends.
        std::thread::sleep(std::time::Duration::from_millis(300));
    }
    #[test] fn starts_what_only_head_has() {
        if beside("fresh").exists() { run(&mut Command::new(beside("fresh"))); }
    }
    #[test] fn asks_a_server_that_was_there_before() {
        let folder = PathBuf::from(std::env::var_os("SERVER").unwrap());
        std::fs::write(folder.join("queue"), format!("{} walk > {}\n", beside("tool").display(), folder.join("answer").display())).unwrap();
        while std::fs::read(folder.join("answer")).map_or(true, |answer| !answer.ends_with(b"\n")) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        std::fs::remove_file(folder.join("answer")).unwrap();
    }
}
"##;

fn project() -> Project {
    let project = Project::empty();
    project.write("Cargo.toml", "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    project.write("src/bin/wrapper.rs", WRAPPER);
    project.write("src/bin/steady.rs", STEADY);
    project.write("tests/cli.rs", TESTS);
    for (rounds, message) in [(500, "base"), (1500, "head")] {
        project.write("src/bin/tool.rs", tool(rounds));
        if message == "head" {
            project.write("src/bin/fresh.rs", STEADY);
        }
        project.commit(message);
    }
    project
}

/// A shell outside of the tool that executes lines; killed when dropped.
struct Server {
    folder: tempfile::TempDir,
    shell: std::process::Child,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let queue = folder.path().join("queue");
        assert!(Command::new("mkfifo").arg(&queue).status().unwrap().success());
        let script = format!("exec 3<> '{}'; while read -r line <&3; do sh -c \"$line\"; done", queue.display());
        let shell = Command::new("sh").arg("-c").arg(script).stderr(Stdio::null()).spawn().unwrap();
        Self { folder, shell }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shell.kill().unwrap();
        self.shell.wait().unwrap();
    }
}

fn list(project: &Project, server: &Path) -> Run {
    let mut command = Project::tool(project.path());
    command.args(["list", "HEAD~1", "--message-format", "json"]).env("SERVER", server);
    Run::of(command).expect(0)
}

/// Checks the result of each test, by the module that contains it.
fn check(document: &Value) {
    let tests = document["tests"].as_array().unwrap();
    let mut seen = 0;
    for test in tests {
        let name = test["name"].as_str().unwrap();
        let because = test["selected_because"].as_str().unwrap_or_default();
        let (module, case) = name.split_once("::").unwrap();
        seen += 1;
        match module {
            "walks" => {
                let expected = "executes changed walk (src/bin/tool.rs:4) in tool, which it starts";
                assert_eq!(because, expected, "{test}");
            }
            "looks_up" => {
                let expected = "executes changed machine code, tool::look_up in tool, which it starts";
                assert_eq!(because, expected, "{test}");
            }
            "idles" => {
                assert_eq!(test["reason"]["kind"], "not-executed", "{test}");
                assert_eq!(test["selected"], false, "{test}");
            }
            _ => {
                let why = match case {
                    "starts_a_changed_copy" => "which was made while the test ran",
                    "leaves_it_behind" => "it leaves processes behind, which may start programs",
                    "starts_what_only_head_has" => "it starts fresh, which only one version has",
                    _ => "something opens tool and is not seen to start it",
                };
                assert!(because.starts_with("may execute changed code; tracing cannot tell: "), "{test}");
                assert!(because.ends_with(why), "{test}");
            }
        }
    }
    assert_eq!(seen, 29);
}

#[test]
fn what_tests_execute_in_programs_decides() {
    let (project, server) = (project(), Server::start());
    let first = list(&project, server.folder.path());
    if first.stderr.contains("tests were not traced to see which execute the change") {
        return skipped("the system does not allow tracing");
    }
    check(&first.json());
    // From the kept results.
    check(&list(&project, server.folder.path()).json());
    let running = Command::new("sh").arg("-c").arg("cat /proc/[0-9]*/cmdline | tr '\\0' ' '").output().unwrap();
    let folder = project.path().to_str().unwrap();
    assert!(!String::from_utf8_lossy(&running.stdout).contains(folder), "something is left running");
}

#[test]
fn without_tracing_every_test_that_can_start_a_changed_program_is_measured() {
    let project = Project::empty();
    project.write("Cargo.toml", "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    project
        .write("tests/cli.rs", "#[test] fn starts_nothing() { assert!(!env!(\"CARGO_BIN_EXE_tool\").is_empty()); }\n");
    for (rounds, message) in [(500, "base"), (1500, "head")] {
        project.write("src/bin/tool.rs", tool(rounds));
        project.commit(message);
    }
    let mut command = Project::tool(project.path());
    command.args(["list", "HEAD~1", "--message-format", "json"]);
    refuse(&mut command, &[(libc::SYS_ptrace, None)]);
    let run = Run::of(command).expect(0);
    assert!(run.stderr.contains("tests were not traced to see which execute the change"), "{}", run.stderr);
    assert_eq!(run.json()["tests"][0]["selected"], true, "{}", run.stdout);
}

/// A program that opens the package's shared library in the same folder.
const OPENS: &str = r#"
use std::ffi::{CString, c_char, c_int, c_void};
extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}
fn main() {
    let path = std::env::current_exe().unwrap().with_file_name("libsample.so");
    let (path, name) = (CString::new(path.to_str().unwrap()).unwrap(), CString::new("mix").unwrap());
    let mix = unsafe { dlsym(dlopen(path.as_ptr(), 2), name.as_ptr()) };
    assert!(!mix.is_null());
    let mix: extern "C" fn(u64) -> u64 = unsafe { std::mem::transmute(mix) };
    println!("{}", mix(1));
}
"#;

#[test]
fn a_program_that_opens_a_changed_library_is_measured() {
    let project = Project::empty();
    project.write(
        "Cargo.toml",
        "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[lib]\ncrate-type = [\"lib\", \"cdylib\"]\n",
    );
    project.write("src/bin/opens.rs", OPENS);
    project.write(
        "tests/cli.rs",
        r#"
#[test] fn opens_the_library() {
    assert!(std::process::Command::new(env!("CARGO_BIN_EXE_opens")).status().unwrap().success());
}
#[test] fn starts_nothing() { std::hint::black_box(1); }
"#,
    );
    for rounds in [500, 1500] {
        let mix = format!(
            "#[no_mangle] pub extern \"C\" fn mix(seed: u64) -> u64 {{
    (0..{rounds}).fold(seed | 1, |state, round| (state ^ state << 13 ^ state >> 7).wrapping_add(round))
}}\n"
        );
        project.write("src/lib.rs", mix);
        project.commit("a version");
    }
    let run = project.perfunit(["list", "HEAD~1", "--message-format", "json"]).expect(0);
    if run.stderr.contains("tests were not traced to see which execute the change") {
        return skipped("the system does not allow tracing");
    }
    let document = run.json();
    let of = |name: &str| document["tests"].as_array().unwrap().iter().find(|test| test["name"] == name).unwrap();
    let expected = "may execute changed code; tracing cannot tell: it starts opens, which loads libraries that differ";
    assert_eq!(of("opens_the_library")["selected_because"], expected, "{document}");
    assert_eq!(of("starts_nothing")["reason"]["kind"], "not-executed", "{document}");
}
