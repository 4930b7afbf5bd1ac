//! Files that cannot be compared.

/// A file, or a member of an archive, that cannot be compared. Every test that is linked with it has to count as changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {why}")]
pub struct Unreadable {
    /// Its name, and that of the archive's member.
    pub file: String,
    pub why: Why,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    #[error("neither an ELF object nor an archive")]
    NoObject,
    #[error("LLVM bitcode, to be compiled by the linker")]
    Bitcode,
    #[error("gcc's intermediate code, to be compiled by the linker")]
    GccCode,
    #[error("a thin archive, whose objects are elsewhere")]
    ThinArchive,
    #[error("{0}")]
    DamagedArchive(object::Error),
    #[error("damaged: {0}")]
    Damaged(#[from] object::Error),
    #[error("not a 64-bit little-endian object")]
    OtherForm,
    #[error("for another machine (ELF machine {0})")]
    OtherMachine(u16),
    #[error("a shared library, linked already")]
    SharedLibrary,
    #[error("not a relocatable object")]
    NotRelocatable,
    #[error("section {name} of unknown type {kind:#x}")]
    UnknownSection { name: String, kind: u32 },
    #[error("section {0} is compressed")]
    Compressed(String),
    #[error("relocations of type {kind:#x} in {section}")]
    UnknownRelocations { section: String, kind: u32 },
    #[error("{0}")]
    Dangling(&'static str),
    /// Names are told apart by their text; two that are not text could be mistaken for each other.
    #[error("a name that is not UTF-8")]
    NotUtf8,
    #[error("too large")]
    TooLarge,
}
