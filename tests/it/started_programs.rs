//! Programs of the workspace that tests start: each belongs to its own side, and is compared by its own time.

use crate::instructions::has_valgrind;
use crate::support::{Project, first_responsible};
use serde_json::Value;

/// Creates a package with three binaries: `work` computes for this many rounds, `nap` sleeps, and `calm` never changes.
/// The test's own work hides the work of the programs.
fn project() -> Project {
    let project = Project::empty();
    project.write("Cargo.toml", "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    project.write(
        "src/lib.rs",
        "pub fn spin(rounds: u64) -> u64 {\n    (0..rounds).fold(0, |sum, n| std::hint::black_box(sum ^ n))\n}\n",
    );
    project.write("src/bin/calm.rs", "fn main() { println!(\"{}\", sample::spin(300_000)); }\n");
    project.write(
        "tests/it.rs",
        r#"use std::process::Command;

#[test]
fn starts_programs() {
    assert!(Command::new(env!("CARGO_BIN_EXE_work")).status().unwrap().success());
    let shell = format!("{}; true", env!("CARGO_BIN_EXE_work"));
    assert!(Command::new("/bin/sh").args(["-c", &shell]).status().unwrap().success());
    assert!(Command::new(env!("CARGO_BIN_EXE_calm")).env_clear().output().unwrap().status.success());
    assert!(Command::new(env!("CARGO_BIN_EXE_nap")).spawn().unwrap().wait_with_output().unwrap().status.success());
    assert_ne!(sample::spin(1_000_000), 1);
}

#[test]
fn leaves_a_program_to_a_shell() {
    let shell = format!("{}; true", env!("CARGO_BIN_EXE_work"));
    assert!(Command::new("/bin/sh").args(["-c", &shell]).env_clear().status().unwrap().success());
}

#[test]
fn passes_a_name() {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    let output = Command::new(env!("CARGO_BIN_EXE_calm-name")).arg0("another name").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "another name");
    let killed = Command::new(env!("CARGO_BIN_EXE_calm-name")).arg("abort").status().unwrap();
    assert_eq!(killed.signal(), Some(6));
    let code = Command::new(env!("CARGO_BIN_EXE_calm-name")).arg("exit").status().unwrap();
    assert_eq!(code.code(), Some(77));
}
"#,
    );
    project.write(
        "src/bin/calm-name.rs",
        r#"fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("abort") => std::process::abort(),
        Some("exit") => std::process::exit(77),
        _ => print!("{}", std::env::args().next().unwrap()),
    }
}
"#,
    );
    versions(&project, 300_000, 2);
    project.commit("base");
    project
}

fn versions(project: &Project, rounds: u64, naps_ms: u64) {
    project.write("src/bin/work.rs", format!("fn main() {{ println!(\"{{}}\", sample::spin({rounds})); }}\n"));
    project.write(
        "src/bin/nap.rs",
        format!("fn main() {{ std::thread::sleep(std::time::Duration::from_millis({naps_ms})); }}\n"),
    );
}

fn test<'a>(document: &'a Value, name: &str) -> &'a Value {
    document["tests"].as_array().unwrap().iter().find(|test| test["name"] == name).unwrap()
}

fn program<'a>(test: &'a Value, name: &str) -> &'a Value {
    let programs = test["metrics"]["program-time"]["programs"].as_array();
    programs
        .and_then(|programs| programs.iter().find(|program| program["name"] == name))
        .unwrap_or_else(|| panic!("{test:#}"))
}

fn verdict(program: &Value) -> &str {
    let decides = program["decides"].as_str().unwrap_or_else(|| panic!("{program:#}"));
    program[decides.replace('-', "_")]["verdict"].as_str().unwrap()
}

#[test]
fn a_program_is_compared_by_its_own_time() {
    let project = project().with_natural_layout();
    versions(&project, 6_000_000, 40);
    project.commit("head");
    let run = project.diff(&["--all-tests", "--per-test-budget", "20s", "--explain", "never"]);
    let document = run.json();
    let starts = test(&document, "starts_programs");
    let [work, calm, nap] = ["work", "calm", "nap"].map(|name| program(starts, name));
    assert_eq!((&work["starts"]["base"], &work["starts"]["head"]), (&2.0.into(), &2.0.into()));
    assert_eq!((&calm["starts"]["base"], &nap["starts"]["head"]), (&1.0.into(), &1.0.into()));
    assert_eq!((verdict(work), verdict(nap)), ("more", "more"), "{starts:#}");
    assert!(!["more", "less"].contains(&verdict(calm)), "{calm:#}");
    // A program that sleeps is not judged by its CPU time.
    assert_eq!(nap["decides"], "time");
    let ratio = |program: &Value, time: &str| {
        program[time]["head"]["value"].as_f64().unwrap() / program[time]["base"]["value"].as_f64().unwrap()
    };
    // Twenty times the work; starting the process is part of both versions.
    assert!((2.0..20.0).contains(&ratio(work, "cpu_time")), "{work:#}");
    assert_eq!(starts["metrics"]["program-time"]["verdict"], "more");

    // A shell without our environment waits for the program.
    let left = test(&document, "leaves_a_program_to_a_shell");
    assert_eq!(left["metrics"]["program-time"]["unavailable"]["kind"], "end-not-seen");
    let named = test(&document, "passes_a_name");
    assert_eq!(program(named, "calm-name")["starts"]["base"], 3.0);
    assert_ne!(named["verdict"], "not-measured");

    // The file at a binary's path is small, however large the tool is.
    let stand_in = project.path().join("target/perfunit/bin-exe/work");
    assert!(stand_in.metadata().unwrap().len() < 200_000);
}

#[test]
fn the_time_of_programs_can_decide() {
    let project = project();
    versions(&project, 6_000_000, 2);
    project.commit("head");
    let arguments = [
        "--all-tests",
        "starts_programs",
        "--metric",
        "program-time",
        "--per-test-budget",
        "20s",
        "--explain",
        "never",
    ];
    let run = project.diff(&arguments).expect(100);
    assert_eq!(test(&run.json(), "starts_programs")["verdict"], "slower");
    let report = project.perfunit(["report"]).stdout;
    assert!(report.contains("work (started 2 times): "), "{report}");
    assert!(report.contains("calm (started once): "), "{report}");
}

#[test]
fn a_program_is_compared_over_all_tests_that_start_it() {
    let project = project();
    let test = |number| {
        format!(
            "#[test]\nfn starts_{number}() {{\n    \
             assert!(std::process::Command::new(env!(\"CARGO_BIN_EXE_work\")).status().unwrap().success());\n}}\n"
        )
    };
    project.write("tests/it.rs", (0..11).map(test).collect::<String>());
    project.commit("eleven tests");
    versions(&project, 1_200_000, 2);
    project.commit("head");
    let arguments = ["--per-test-budget", "2s", "--explain", "never"];
    let run = project.diff(&arguments).expect(100);
    let document = run.json();
    let program = &document["programs"][0];
    assert_eq!((&program["name"], &program["verdict"]), (&"work".into(), &"slower".into()), "{document:#}");
    assert_eq!(program["tests"], 11);
    let report = project.perfunit(["report"]).stdout;
    assert!(
        report.contains("Program  work: typically slower, +")
            && report.contains(" over 11 tests that the change can reach"),
        "{report}"
    );
}

/// A program with a function for each argument. Head's functions do one thing more for each file, or at the start.
fn tool(looks: usize, start: &str, line: &str, lock: &str) -> String {
    format!(
        r#"
use std::hint::black_box;
use std::sync::Mutex;
use std::time::Duration;

static SEEN: Mutex<u64> = Mutex::new(0);

#[inline(never)]
fn look(files: usize) -> usize {{
    (0..files * {looks}).filter(|_| std::fs::metadata(".").is_ok()).count()
}}

fn start() {{
    {start};
}}

fn lines(count: usize) -> usize {{
    (0..count).map(|number| number + {line}).sum()
}}

fn note(file: usize) {{
    {lock};
}}

fn main() {{
    let arguments: Vec<String> = std::env::args().collect();
    match arguments[1].as_str() {{
        "look" => assert_ne!(look(40), 0),
        "start" => start(),
        "lines" => println!("{{}}", lines(2_000)),
        _ => (0..2_000).for_each(note),
    }}
}}
"#
    )
}

#[test]
fn the_functions_of_programs_are_named() {
    if !has_valgrind() {
        return;
    }
    let project = Project::empty();
    project.write("Cargo.toml", "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    project.write(
        "tests/it.rs",
        r#"use std::process::{Command, Stdio};

fn run(command: &mut Command) {
    assert!(command.stdout(Stdio::null()).status().unwrap().success());
}

#[test]
fn look() {
    run(Command::new(env!("CARGO_BIN_EXE_tool")).arg("look"));
}

#[test]
fn look_through_a_shell() {
    run(Command::new("sh").arg("-c").arg(format!("true; {} look | cat; true", env!("CARGO_BIN_EXE_tool"))));
}

#[test]
fn start() {
    run(Command::new(env!("CARGO_BIN_EXE_tool")).arg("start"));
}

#[test]
fn lines() {
    run(Command::new(env!("CARGO_BIN_EXE_tool")).arg("lines"));
}

#[test]
fn note() {
    run(Command::new(env!("CARGO_BIN_EXE_tool")).arg("note"));
}
"#,
    );
    project.write("src/bin/tool.rs", tool(1, "black_box(())", "black_box(number)", "black_box(file)"));
    project.commit("base");
    let sleeps = "std::thread::sleep(Duration::from_millis(1))";
    project.write(
        "src/bin/tool.rs",
        tool(2, sleeps, "black_box(number.to_string()).len()", "*SEEN.lock().unwrap() += file as u64"),
    );
    project.commit("head");
    let measured = project.perfunit(["diff", "HEAD~1", "--per-test-budget", "2s", "--explain", "never"]);
    assert!(measured.stderr.contains("5 measured") || measured.stdout.contains("5 measured"), "{}", measured.stdout);
    let names = ["look", "look_through_a_shell", "start", "lines", "note"];
    let explain = ["explain", "--message-format", "json", "--exact"].iter().chain(&names);
    let document = project.perfunit(explain).expect(0).json();
    for (name, function, engine) in [
        ("look", "look", "system-calls"),
        ("look_through_a_shell", "look", "system-calls"),
        ("start", "start", "system-calls"),
        ("lines", "lines", "callgrind"),
        ("note", "note", "callgrind"),
    ] {
        let test = document["tests"].as_array().unwrap().iter().find(|test| test["name"] == name).unwrap();
        assert_eq!(first_responsible(test), Some(function), "{test:#}");
        assert_eq!(test["explanation"]["engine"], engine, "{test:#}");
    }
}

/// A program that ends when it is told to, and one that base waits for in vain no longer.
fn endless(on_head: bool) -> String {
    format!(
        r#"
use std::time::Duration;

fn main() {{
    let is_endless = match std::env::args().nth(1).as_deref() {{
        Some("wait") => {on_head},
        _ => true,
    }};
    while is_endless {{
        std::thread::sleep(Duration::from_secs(1));
    }}
}}
"#
    )
}

#[test]
fn programs_that_do_not_end_are_named_and_ended() {
    let project = Project::empty();
    project.write("Cargo.toml", "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    project.write(
        "tests/it.rs",
        r#"use std::process::Command;

const TOOL: &str = env!("CARGO_BIN_EXE_tool");

#[test]
fn waits_for_it() {
    assert!(Command::new(TOOL).arg("wait").status().unwrap().success());
}

#[test]
fn leaves_it_behind() {
    drop(Command::new(TOOL).arg("sleep").spawn().unwrap());
}

#[test]
fn leaves_it_in_a_session_of_its_own() {
    assert!(Command::new("setsid").args(["-f", TOOL, "sleep"]).status().unwrap().success());
}

#[test]
fn starts_a_program_of_the_system() {
    assert!(Command::new("true").status().unwrap().success());
}
"#,
    );
    for on_head in [false, true] {
        project.write("src/bin/tool.rs", endless(on_head));
        project.commit("a version");
    }
    let arguments = ["--all-tests", "--timeout", "2s", "--per-test-budget", "4s"];
    let run = project.diff(&arguments);
    let document = run.json();
    // Slower by a bound, or failing.
    assert!([100, 104].contains(&run.code), "{document:#}");
    let waits = test(&document, "waits_for_it");
    let how = (waits["verdict"].as_str().unwrap(), waits["reason"]["kind"].as_str());
    assert!(matches!(how, ("slower", _) | ("not-measured", Some("timed-out" | "fails-on-one-side"))), "{waits:#}");
    for name in ["leaves_it_behind", "leaves_it_in_a_session_of_its_own"] {
        let left = test(&document, name);
        assert!(!["slower", "faster"].contains(&left["verdict"].as_str().unwrap()), "{left:#}");
        let is_named = left["metrics"]["program-time"]["unavailable"]["kind"] == "end-not-seen";
        assert!(is_named || !left["reason"].is_null(), "{left:#}");
    }
    let other = test(&document, "starts_a_program_of_the_system");
    assert!(
        other["metrics"]["program-time"].is_null() || other["metrics"]["program-time"]["programs"].is_null(),
        "{other:#}"
    );
    let running =
        std::process::Command::new("sh").arg("-c").arg("cat /proc/[0-9]*/cmdline | tr '\\0' ' '").output().unwrap();
    let folder = project.path().to_str().unwrap();
    assert!(!String::from_utf8_lossy(&running.stdout).contains(folder), "something is left running");
}
