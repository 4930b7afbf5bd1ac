//! The part of `std::os::unix` that the tool uses, for systems without it, so that other code need not distinguish
//! systems.

pub mod ffi {
    use std::ffi::{OsStr, OsString};

    pub trait OsStrExt {
        fn as_bytes(&self) -> &[u8];
        fn from_bytes(bytes: &[u8]) -> &Self;
    }

    impl OsStrExt for OsStr {
        fn as_bytes(&self) -> &[u8] {
            self.as_encoded_bytes()
        }

        fn from_bytes(bytes: &[u8]) -> &Self {
            Self::new(std::str::from_utf8(bytes).unwrap_or_default())
        }
    }

    pub trait OsStringExt {
        fn from_vec(bytes: Vec<u8>) -> Self;
    }

    impl OsStringExt for OsString {
        fn from_vec(bytes: Vec<u8>) -> Self {
            String::from_utf8_lossy(&bytes).into_owned().into()
        }
    }
}

pub mod fs {
    use std::fs::{DirBuilder, File, Metadata, Permissions};
    use std::io;
    use std::os::windows::fs::FileExt as _;
    use std::path::Path;
    use std::time::{Duration, UNIX_EPOCH};

    pub trait MetadataExt {
        fn dev(&self) -> u64;
        fn ino(&self) -> u64;
        fn mode(&self) -> u32;
        fn uid(&self) -> u32;
        fn mtime(&self) -> i64;
        fn mtime_nsec(&self) -> i64;
        fn ctime(&self) -> i64;
        fn ctime_nsec(&self) -> i64;
    }

    fn since_1970(data: &Metadata) -> Duration {
        data.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default()
    }

    impl MetadataExt for Metadata {
        fn dev(&self) -> u64 {
            0
        }

        fn ino(&self) -> u64 {
            // The closest approximation of an identity in std.
            std::os::windows::fs::MetadataExt::creation_time(self)
        }

        fn mode(&self) -> u32 {
            self.permissions().mode()
        }

        fn uid(&self) -> u32 {
            0
        }

        fn mtime(&self) -> i64 {
            since_1970(self).as_secs().cast_signed()
        }

        fn mtime_nsec(&self) -> i64 {
            since_1970(self).subsec_nanos().into()
        }

        /// Returns the time of the last change of content, because std has no other.
        fn ctime(&self) -> i64 {
            self.mtime()
        }

        fn ctime_nsec(&self) -> i64 {
            self.mtime_nsec()
        }
    }

    pub trait PermissionsExt {
        fn mode(&self) -> u32;
        fn from_mode(mode: u32) -> Self;
    }

    impl PermissionsExt for Permissions {
        fn mode(&self) -> u32 {
            if self.readonly() { 0o555 } else { 0o755 }
        }

        fn from_mode(mode: u32) -> Self {
            // std offers no other way to create permissions.
            let current = std::fs::metadata(".").expect("the current folder is there");
            let mut permissions = current.permissions();
            permissions.set_readonly(mode & 0o200 == 0);
            permissions
        }
    }

    pub trait DirBuilderExt {
        fn mode(&mut self, mode: u32) -> &mut Self;
    }

    impl DirBuilderExt for DirBuilder {
        fn mode(&mut self, _mode: u32) -> &mut Self {
            self
        }
    }

    pub trait FileExt {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    }

    impl FileExt for File {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            self.seek_read(buffer, offset)
        }
    }

    pub fn symlink(_target: impl AsRef<Path>, _place: impl AsRef<Path>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

pub mod process {
    use std::ffi::OsStr;
    use std::io;
    use std::process::{Command, ExitStatus};

    pub trait CommandExt {
        fn arg0(&mut self, name: impl AsRef<OsStr>) -> &mut Self;
        fn process_group(&mut self, leader: i32) -> &mut Self;
        fn exec(&mut self) -> io::Error;
    }

    impl CommandExt for Command {
        fn arg0(&mut self, _name: impl AsRef<OsStr>) -> &mut Self {
            self
        }

        fn process_group(&mut self, _leader: i32) -> &mut Self {
            self
        }

        fn exec(&mut self) -> io::Error {
            io::ErrorKind::Unsupported.into()
        }
    }

    pub trait ExitStatusExt {
        fn signal(&self) -> Option<i32>;
        fn from_raw(status: i32) -> Self;
    }

    impl ExitStatusExt for ExitStatus {
        fn signal(&self) -> Option<i32> {
            None
        }

        fn from_raw(status: i32) -> Self {
            std::os::windows::process::ExitStatusExt::from_raw(status.cast_unsigned())
        }
    }
}
