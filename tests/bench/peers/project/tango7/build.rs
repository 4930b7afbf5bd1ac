//! As the documentation of tango 0.7 has it: one executable loads the other as a library.

fn main() {
    println!("cargo:rustc-link-arg-benches=-rdynamic");
    println!("cargo:rerun-if-changed=build.rs");
}
