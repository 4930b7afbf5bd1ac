//! What can be read, and what is refused with a reason.

use crate::binary::read;

#[track_caller]
fn refused(bytes: &[u8], why: &str) {
    let error = read("some.o", bytes).unwrap_err();
    assert_eq!(error.to_string(), format!("some.o: {why}"));
}

#[test]
fn what_is_no_object_is_refused() {
    refused(b"", "neither an ELF object nor an archive");
    refused(b"GROUP ( libfoo.a )", "neither an ELF object nor an archive");
    refused(b"BC\xc0\xde\x35\x14\0\0", "LLVM bitcode, to be compiled by the linker");
    refused(b"!<thin>\n", "a thin archive, whose objects are elsewhere");
    refused(b"\x7fELF\x01\x01\x01", "not a 64-bit little-endian object");
}

#[test]
fn a_damaged_object_is_refused_and_never_panics() {
    let mut header = vec![0; 64];
    header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    assert!(read("some.o", &header).is_err());
    // A shared library, of a machine that we know.
    header[16] = 3;
    header[18] = 62;
    refused(&header, "a shared library, linked already");
    header[18] = 243;
    refused(&header, "for another machine (ELF machine 243)");
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
