//! Readable input, and input that is rejected with a reason.

use super::support::{c_object, programs};
use crate::code::{Unit, Unreadable, compare};
use perfunit_build::CompiledFiles;
use std::collections::BTreeSet;
use std::sync::Arc;

fn read(name: &str, bytes: &[u8]) -> Result<Unit, Unreadable> {
    crate::code::read(name, bytes, &CompiledFiles::default())
}

#[track_caller]
fn check_refusal(bytes: &[u8], why: &str) {
    let error = read("some.o", bytes).unwrap_err();
    assert_eq!(error.to_string(), format!("some.o: {why}"));
}

#[test]
fn what_is_no_object_is_refused() {
    check_refusal(b"", "neither an ELF object nor an archive");
    check_refusal(b"GROUP ( libfoo.a )", "neither an ELF object nor an archive");
    check_refusal(b"BC\xc0\xde\x35\x14\0\0", "LLVM bitcode, to be compiled by the linker");
    check_refusal(b"!<thin>\n", "a thin archive, whose objects are elsewhere");
    check_refusal(b"\x7fELF\x01\x01\x01", "not a 64-bit little-endian object");
}

#[test]
fn a_damaged_object_is_refused_and_never_panics() {
    let mut header = vec![0; 64];
    header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    assert!(read("some.o", &header).is_err());
    // A shared library for a supported machine.
    header[16] = 3;
    header[18] = 62;
    check_refusal(&header, "a shared library, linked already");
    header[18] = 243;
    check_refusal(&header, "for another machine (ELF machine 243)");
}

#[test]
fn archives_are_read_member_by_member() {
    let archive = |name: &str, content: &[u8]| {
        let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, content.len());
        [b"!<arch>\n", header.as_bytes(), content].concat()
    };
    assert!(read("libx.rlib", &archive("lib.rmeta/", b"what crates tell each other.")).is_ok());
    let error = read("libx.rlib", &archive("x.o/", b"BC\xc0\xde\x35\x14\0\0")).unwrap_err();
    assert_eq!(error.to_string(), "libx.rlib(x.o): LLVM bitcode, to be compiled by the linker");
}

#[test]
fn whatever_bytes_an_object_has_nothing_panics() {
    let source = r#"
        static int counter; __thread int depth = 3; __attribute__((common)) int room[4];
        const char *names[] = { "one", "two" };
        __attribute__((constructor)) static void prepare(void) { counter = room[1]; }
        double helper(int x) { depth += x; return counter++ * 1.5 + names[x & 1][0]; }
    "#;
    let whole = c_object(source);
    let mut random = fastrand::Rng::with_seed(7);
    let mut readable = 0;
    for _ in 0..2000 {
        let mut bytes = whole.clone();
        // Section headers are at the end, after symbols and relocations.
        for _ in 0..random.usize(1..4) {
            let at = random.usize(6..bytes.len());
            bytes[at] = random.u8(..);
        }
        if let Ok(unit) = read("damaged.o", &bytes) {
            readable += 1;
            let unit = Arc::new(unit);
            compare(&programs(&[&unit], &[&unit]), &BTreeSet::from(["a_test".to_owned()]));
        }
        assert!(read("short.o", &whole[..random.usize(..whole.len() - 1)]).is_err());
    }
    assert!(readable > 100, "only {readable} of 2000 were read at all");
}
