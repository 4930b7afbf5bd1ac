//! Archives: files below one folder with a note in front, to be unpacked below another folder elsewhere.
//!
//! An archive is a tar file in one Zstandard frame with a checksum, so that other tools can read it. Archives come from
//! elsewhere and are not trusted: only plain files below the folder are ever written, and a damaged or truncated
//! archive is an error.

use crate::fs;
use crate::os::unix::fs::PermissionsExt as _;
use perfunit_model::error::{Error, Result};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Component, Path, PathBuf};

/// Name of the note, which is the first entry.
const NOTE: &str = "perfunit-archive.json";
/// Window for matches as a power of two, because executables of one program have much in common, far apart. A larger
/// window would require an option when reading.
const WINDOW: u32 = 27;
/// This level packs executables to a quarter in seconds. Higher levels gain little.
const LEVEL: i32 = 3;
/// Magic number of a Zstandard frame.
const ZSTANDARD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Maximum length of a note; real ones are far smaller.
const LONGEST_NOTE: u64 = 64 << 20;

/// A file to pack.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    pub name: PathBuf,
    pub path: PathBuf,
}

/// Writes an archive and returns its size in bytes. An existing file is replaced only when the archive is complete.
pub fn pack(archive: &Path, note: &[u8], entries: &[Entry]) -> Result<u64> {
    let draft = fs::draft(archive)?;
    pack_to(draft.as_file(), note, entries, archive)?;
    fs::persist(draft, archive)?;
    Ok(fs::metadata(archive)?.len())
}

fn pack_to(draft: &File, note: &[u8], entries: &[Entry], archive: &Path) -> Result<()> {
    let failed = |error: io::Error| fs::io_error("write", archive)(error);
    let mut encoder = zstd::Encoder::new(draft, LEVEL).map_err(failed)?;
    encoder.include_checksum(true).map_err(failed)?;
    encoder.long_distance_matching(true).map_err(failed)?;
    encoder.window_log(WINDOW).map_err(failed)?;
    let mut tar = tar::Builder::new(encoder);
    let mut header = header(note.len() as u64, 0o644);
    tar.append_data(&mut header, NOTE, note).map_err(failed)?;
    for Entry { name, path } in entries {
        // Follow links, because their targets may not exist elsewhere.
        let data = fs::metadata(path)?;
        let mut header = self::header(data.len(), data.permissions().mode() & 0o777);
        let file = fs::open(path)?;
        tar.append_data(&mut header, name, file).map_err(failed)?;
    }
    let file = tar.into_inner().and_then(zstd::Encoder::finish).map_err(failed)?;
    file.sync_all().map_err(failed)
}

/// Builds a header without times and owners, so that the same files give the same archive.
fn header(bytes: u64, mode: u32) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Regular);
    header.set_size(bytes);
    header.set_mode(mode);
    header
}

/// Reads the note of an archive.
pub fn note(archive: &Path) -> Result<Vec<u8>> {
    let mut tar = open(archive)?;
    let mut entries = tar.entries().map_err(damage_error(archive))?;
    let first = entries.next().ok_or_else(|| none(archive))?;
    let entry = first.map_err(damage_error(archive))?;
    if entry.path().map_err(damage_error(archive))? != Path::new(NOTE) {
        return Err(none(archive));
    }
    let mut note = Vec::new();
    entry.take(LONGEST_NOTE).read_to_end(&mut note).map_err(damage_error(archive))?;
    Ok(note)
}

/// Unpacks all entries below `folder`. After an error the caller must remove the unpacked files.
pub fn unpack(archive: &Path, folder: &Path) -> Result<()> {
    let mut tar = open(archive)?;
    for entry in tar.entries().map_err(damage_error(archive))? {
        let mut entry = entry.map_err(damage_error(archive))?;
        let name = entry.path().map_err(damage_error(archive))?.into_owned();
        if name == Path::new(NOTE) {
            continue;
        }
        let stays_inside = name.components().all(|part| matches!(part, Component::Normal(_)));
        if !stays_inside || entry.header().entry_type() != tar::EntryType::Regular {
            return Err(Error::usage(format!(
                "{} was not created by cargo-perfunit: the entry `{}` is not a file below the folder",
                archive.display(),
                name.display()
            ))
            .hint("only use archives from trusted sources, created by `cargo perfunit archive`"));
        }
        let path = folder.join(&name);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        let mode = entry.header().mode().map_err(damage_error(archive))? & 0o777;
        write(&mut entry, &path, archive)?;
        let permissions = std::fs::Permissions::from_mode(mode | 0o600);
        std::fs::set_permissions(&path, permissions).map_err(|error| fs::io_error("write", &path)(error))?;
    }
    // The checksum follows the end of the tar archive.
    io::copy(&mut tar.into_inner(), &mut io::sink()).map(drop).map_err(damage_error(archive))
}

/// Copies an entry to a file. A read failure is a fault of the archive, a write failure one of the disk.
fn write(entry: &mut impl Read, path: &Path, archive: &Path) -> Result<()> {
    let mut file = fs::create(path)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let bytes = entry.read(&mut buffer).map_err(damage_error(archive))?;
        if bytes == 0 {
            return Ok(());
        }
        file.write_all(&buffer[..bytes]).map_err(|error| fs::io_error("write", path)(error))?;
    }
}

type Tar<'a> = tar::Archive<zstd::Decoder<'a, io::BufReader<File>>>;

fn open<'a>(archive: &Path) -> Result<Tar<'a>> {
    let mut file = fs::open(archive)?;
    let mut magic = [0; 4];
    if file.read_exact(&mut magic).is_err() || magic != ZSTANDARD {
        return Err(none(archive));
    }
    file.rewind().map_err(|error| fs::io_error("read", archive)(error))?;
    Ok(tar::Archive::new(zstd::Decoder::new(file).map_err(damage_error(archive))?))
}

fn damage_error(archive: &Path) -> impl FnOnce(io::Error) -> Error + '_ {
    move |error| {
        Error::usage(format!("{} is damaged or truncated: {error}", archive.display()))
            .hint("copy it again, or recreate it with `cargo perfunit archive`")
    }
}

fn none(archive: &Path) -> Error {
    Error::usage(format!("{} is not an archive of cargo-perfunit", archive.display()))
        .hint("create one with `cargo perfunit archive --archive-file FILE`")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a folder with an archive of two files, one of them executable and in a subfolder.
    fn pack_sample() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let entry = |name: &str, content: &str| {
            let path = folder.path().join("from").join(name);
            fs::write(&path, content).unwrap();
            Entry { name: name.into(), path }
        };
        let entries = [entry("a.txt", "text"), entry("deep/er/program", &"code".repeat(100_000))];
        fs::make_executable(&entries[1].path).unwrap();
        let archive = folder.path().join("all.tar.zst");
        pack(&archive, b"note", &entries).unwrap();
        (folder, archive)
    }

    #[test]
    fn what_was_packed_is_unpacked() {
        let (folder, archive) = pack_sample();
        let to = folder.path().join("to");
        assert_eq!(note(&archive).unwrap(), b"note");
        unpack(&archive, &to).unwrap();
        assert_eq!(fs::read_to_string(&to.join("a.txt")).unwrap(), "text");
        let program = to.join("deep/er/program");
        assert_eq!(fs::read(&program).unwrap().len(), 400_000);
        assert_eq!(fs::metadata(&program).unwrap().permissions().mode() & 0o777, 0o755);
        assert!(!to.join(NOTE).exists());
    }

    #[track_caller]
    fn check_refusal(archive: &Path, words: &str) {
        let folder = tempfile::tempdir().unwrap();
        let error = note(archive).and_then(|_| unpack(archive, folder.path())).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn damage_is_told() {
        let (folder, archive) = pack_sample();
        let bytes = fs::read(&archive).unwrap();
        let other = folder.path().join("other");
        let middle = bytes.len() / 2;
        for cut in [bytes.len() - 1, bytes.len() - 4, middle] {
            fs::write(&other, &bytes[..cut]).unwrap();
            check_refusal(&other, "damaged or truncated");
        }
        let mut flipped = bytes.clone();
        flipped[middle] ^= 0x10;
        fs::write(&other, &flipped).unwrap();
        check_refusal(&other, "damaged or truncated");
        fs::write(&other, "something else altogether").unwrap();
        check_refusal(&other, "other is not an archive of cargo-perfunit");
        fs::write(&other, "").unwrap();
        check_refusal(&other, "not an archive");
    }

    /// Creates an archive with an entry that [`pack`] would not write.
    fn craft(folder: &Path, name: &[u8], kind: tar::EntryType) -> PathBuf {
        let path = folder.join("crafted");
        let mut tar = tar::Builder::new(zstd::Encoder::new(fs::create(&path).unwrap(), 1).unwrap());
        tar.append_data(&mut header(4, 0o644), NOTE, &b"note"[..]).unwrap();
        let mut header = header(0, 0o644);
        header.set_entry_type(kind);
        header.as_mut_bytes()[..name.len()].copy_from_slice(name);
        header.set_link_name("/etc/passwd").unwrap();
        header.set_cksum();
        tar.append(&header, &b""[..]).unwrap();
        tar.into_inner().unwrap().finish().unwrap();
        path
    }

    #[test]
    fn nothing_is_written_outside_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let names: [&[u8]; 3] = [b"../outside", b"/tmp/outside", b"sides/../../outside"];
        for name in names {
            check_refusal(&craft(folder.path(), name, tar::EntryType::Regular), "was not created by cargo-perfunit");
        }
        for kind in [tar::EntryType::Symlink, tar::EntryType::Link, tar::EntryType::Fifo, tar::EntryType::Char] {
            check_refusal(&craft(folder.path(), b"sides/a", kind), "entry `sides/a` is not a file");
        }
    }
}
