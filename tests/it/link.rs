//! Inputs of links: kept for both sides, without changing the result.

use crate::support::Project;
use perfunit_build::LinkRecord;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Creates a library with a part in C, a binary, a test that runs the binary, and the project's own linker.
fn project(linker: &str) -> Project {
    let project = Project::empty();
    project.write(
        "Cargo.toml",
        "[package]\nname = \"own-linker\"\nversion = \"0.1.0\"\nedition = \"2021\"\nbuild = \"build.rs\"\n",
    );
    project.write(
        "build.rs",
        r#"fn main() {
    let object = std::env::var("OUT_DIR").unwrap() + "/twice.o";
    let arguments = ["-c", "-O1", "-fPIC", "-ffunction-sections", "-o", &object, "twice.c"];
    assert!(std::process::Command::new("cc").args(arguments).status().unwrap().success());
    println!("cargo:rustc-link-arg={object}");
    println!("cargo:rustc-link-arg=-Wl,--version-script=symbols.map");
}"#,
    );
    project.write("twice.c", "int twice(int value) { return 2 * value; }\n");
    project.write("symbols.map", "{ local: hidden_*; };\n");
    project.write("src/main.rs", "fn main() { println!(\"{}\", own_linker::twice(4)); }\n#[test] fn stands() {}\n");
    project.write(
        "tests/it.rs",
        "#[test]\nfn prints() {\n    let run = std::process::Command::new(env!(\"CARGO_BIN_EXE_own-linker\")).output().unwrap();\n    \
         assert_eq!(run.stdout, b\"8\\n\");\n}\n",
    );
    project.write(".cargo/config.toml", "[target.'cfg(all())']\nlinker = \"./tools/own-cc.sh\"\n");
    project.write("tools/own-cc.sh", linker);
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(project.path().join("tools/own-cc.sh"), executable).unwrap();
    project.write("src/lib.rs", library("unsafe { c::twice(value) }"));
    project.commit("base");
    project.write("src/lib.rs", library("unsafe { c::twice(value) / 3 * 3 + value % 2 }.max(2 * value)"));
    project.commit("head");
    project
}

fn library(body: &str) -> String {
    format!(
        "mod c {{\n    extern \"C\" {{\n        pub fn twice(value: i32) -> i32;\n    }}\n}}\n\
         pub fn twice(value: i32) -> i32 {{\n    {body}\n}}\n\
         #[cfg(test)]\nmod tests {{\n    #[test]\n    fn doubles() {{\n        assert_eq!(super::twice(2), 4);\n    }}\n}}\n"
    )
}

/// Returns the executables of both sides with their link records, by name. Names that only one side has are left out.
fn links(project: &Project) -> BTreeMap<String, Vec<(PathBuf, LinkRecord)>> {
    let list = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let mut links: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for side in list(&project.path().join("target/perfunit/sides")) {
        for link in list(&side.join("link")) {
            let name = link.file_name().unwrap().to_str().unwrap();
            let places = [side.join("deps").join(name), side.join(name)];
            let executable = places.into_iter().find(|path| path.is_file()).unwrap();
            links.entry(name.to_owned()).or_default().push((executable, LinkRecord::load(&link).unwrap()));
        }
    }
    links
}

#[test]
fn kept_inputs_reproduce_the_executable() {
    let project = project("#!/bin/sh\nexec cc \"$@\"\n");
    project.perfunit(["list"]).expect(0);
    let links = links(&project);
    let again = project.path().join("target/again");
    // Of the library, the binary, the test, and the binary itself.
    assert_eq!(links.len(), 4, "{:?}", links.keys());
    for (name, sides) in &links {
        assert_eq!(sides.len(), 2, "{name}");
        for (executable, record) in sides {
            assert_eq!(record.incomplete(), None, "{name}");
            assert!(record.command(&again).status().unwrap().success());
            assert!(fs::read(&again).unwrap() == fs::read(executable).unwrap(), "{}", executable.display());
            let inputs = record.inputs();
            assert!(inputs.iter().any(|input| input.to_str().unwrap().ends_with("-twice.o")), "{inputs:?}");
            assert!(inputs.iter().any(|input| input.to_str().unwrap().ends_with(".rcgu.o")), "{inputs:?}");
            let scripts: Vec<_> = record.scripts().iter().map(|path| fs::read_to_string(path).unwrap()).collect();
            assert_eq!(scripts, ["#!/bin/sh\nexec cc \"$@\"\n", "{ local: hidden_*; };\n"]);
        }
        assert_eq!(sides[0].1.incomparable(&sides[1].1).unwrap(), None, "{name}");
        let contents =
            |record: &LinkRecord| record.inputs().iter().map(|path| fs::read(path).unwrap()).collect::<Vec<_>>();
        // The test in `tests` does not use the library, which alone was changed.
        let changed = contents(&sides[0].1) != contents(&sides[1].1);
        assert_eq!(changed, !name.starts_with("it-"), "{name}");
    }
    assert_eq!(project.status(), [""; 0]);
}

#[test]
fn a_linkers_output_and_failure_are_passed_on() {
    // Build scripts are linked as usual.
    let project = project(
        "#!/bin/sh\ncase \"$*\" in *build_script*) exec cc \"$@\";; esac\necho \"these are the linker's words\" >&2\nexit 3\n",
    );
    let run = project.perfunit(["list"]).expect(101);
    assert!(run.stderr.contains("these are the linker's words"), "{}", run.stderr);
    assert!(run.stderr.contains("exit status: 3"), "{}", run.stderr);
    let build = project.path().join("target/perfunit/build/release");
    assert_eq!(records_below(&build), Vec::<PathBuf>::new());
}

/// Returns the folders with link records, for any layout of cargo's folders.
fn records_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found = Vec::new();
    for folder in entries.filter(|path| path.is_dir()) {
        found.extend(records_below(&folder));
        found.extend(folder.to_str().unwrap().contains(".perfunit-link").then_some(folder));
    }
    found
}
