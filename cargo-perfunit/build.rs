//! Makes the released executable smaller. The profile cannot do that, because unit tests have the same profile.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    if variable("PROFILE") != "release" || variable("CARGO_CFG_TARGET_OS") != "linux" {
        return;
    }
    // The names of functions are a quarter of its size. Unit tests trace themselves by name.
    println!("cargo:rustc-link-arg-bins=-Wl,--strip-all");
    // At a fixed address it has no table of its own addresses (1.4 MB), which would be corrected at each start.
    if variable("CARGO_CFG_TARGET_ENV") == "gnu" && !variable("CARGO_CFG_TARGET_FEATURE").contains("crt-static") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
