//! Files that builds read without telling cargo: the other version's code must not be measured by mistake.

use crate::support::Project;

#[test]
fn an_undeclared_input_of_a_build_script_causes_a_rebuild() {
    let project = Project::empty();
    let manifest = "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    project.write("Cargo.toml", manifest);
    project.write(
        "build.rs",
        "fn main() {
            println!(\"cargo:rerun-if-changed=build.rs\");
            let rounds = std::fs::read_to_string(\"tables/rounds.bin\").unwrap();
            let code = format!(\"pub const ROUNDS: u32 = {};\", rounds.trim());
            std::fs::write(std::path::Path::new(&std::env::var(\"OUT_DIR\").unwrap()).join(\"rounds.rs\"), code).unwrap();
        }\n",
    );
    let library = "include!(concat!(env!(\"OUT_DIR\"), \"/rounds.rs\"));
        pub fn work(seed: u64) -> u64 { (0..ROUNDS).fold(seed, |sum, round| std::hint::black_box(sum ^ u64::from(round))) }
        #[test] fn works() { assert_ne!(work(1), work(2)); }\n";
    project.write("src/lib.rs", library);
    for rounds in ["501\n", "1502\n"] {
        project.write("tables/rounds.bin", rounds);
        project.commit("a version");
    }
    let run = project.perfunit(["diff", "HEAD~1", "--threshold", "0.2", "--message-format", "json"]).expect(100);
    assert_eq!(run.json()["tests"][0]["verdict"], "slower", "{}", run.stdout);
}
