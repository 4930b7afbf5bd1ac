//! Follows the documentation of tango 0.7: one executable loads the other as a library.

fn main() {
    println!("cargo:rustc-link-arg-benches=-rdynamic");
    println!("cargo:rerun-if-changed=build.rs");
}
