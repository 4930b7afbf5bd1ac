//! Writes a table that becomes code.

fn main() {
    let mut table = String::from("pub const SQUARES: [u64; 16] = [");
    for number in 0..16u64 {
        table.push_str(&format!("{}, ", number * number + 3));
    }
    table.push_str("];\n");
    let folder = std::env::var("OUT_DIR").unwrap();
    std::fs::write(format!("{folder}/table.rs"), table).unwrap();
    println!("cargo:rerun-if-changed=build.rs");
}
