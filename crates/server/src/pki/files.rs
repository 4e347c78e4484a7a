//! Files that appear whole or not at all, and survive a crash once written.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::PkiError;

/// For keys and whatever holds one.
pub(super) const SECRET: u32 = 0o600;
/// For certificates.
pub(super) const PUBLIC: u32 = 0o644;

/// Makes a folder for its owner only; one that exists is left as it is.
pub(super) fn create_folder(folder: &Path) -> Result<(), PkiError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| PkiError::io("create the folder", folder, error))
}

/// `None` when there is no such file.
pub(super) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, PkiError> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(PkiError::io("read", path, error)),
    }
}

pub(super) fn write(path: &Path, content: &[u8], mode: u32) -> Result<(), PkiError> {
    let mut batch = Batch::default();
    batch.add(path.to_owned(), content.to_vec(), mode);
    batch.commit()
}

/// Several files of one folder, written together.
///
/// Secrets are in place before anything public is: a certificate never appears without its key.
#[derive(Default)]
pub(super) struct Batch {
    files: Vec<(PathBuf, Vec<u8>, u32)>,
}

impl Batch {
    pub(super) fn add(&mut self, path: PathBuf, content: Vec<u8>, mode: u32) {
        self.files.push((path, content, mode));
    }

    pub(super) fn commit(self) -> Result<(), PkiError> {
        let mut staged = Vec::with_capacity(self.files.len());
        for (path, content, mode) in self.files {
            let file = stage(&path, &content, mode).map_err(|error| PkiError::io("write", &path, error))?;
            staged.push((path, file, mode));
        }
        let (secret, public): (Vec<_>, Vec<_>) = staged.into_iter().partition(|(.., mode)| *mode == SECRET);
        put_in_place(secret)?;
        put_in_place(public)
    }
}

fn put_in_place(staged: Vec<(PathBuf, NamedTempFile, u32)>) -> Result<(), PkiError> {
    let mut last = None;
    for (path, file, _) in staged {
        file.persist(&path).map_err(|error| PkiError::io("write", &path, error.error))?;
        last = Some(path);
    }
    let Some(path) = last else { return Ok(()) };
    let folder = folder_of(&path);
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| PkiError::io("sync", folder, error))
}

/// The content on disk, under another name in the same folder. Gone again when dropped.
fn stage(path: &Path, content: &[u8], mode: u32) -> io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new()
        .prefix(".crest-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder_of(path))?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn files_get_their_mode_and_replace_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        fs::write(&path, "old, and readable by all").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        write(&path, b"new", SECRET).unwrap();
        assert_eq!((fs::read(&path).unwrap().as_slice(), mode(&path)), (&b"new"[..], 0o600));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing temporary is left");
    }

    #[test]
    fn a_failed_batch_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join("kept");
        fs::write(&kept, "old").unwrap();
        let mut batch = Batch::default();
        batch.add(kept.clone(), b"new".to_vec(), SECRET);
        batch.add(folder.path().join("no/such/folder"), b"x".to_vec(), SECRET);
        let error = batch.commit().unwrap_err();
        assert!(error.to_string().starts_with("cannot write '"), "{error}");
        assert_eq!(fs::read(&kept).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_new_folder_is_for_its_owner_and_an_old_one_stays() {
        let outer = tempfile::tempdir().unwrap();
        let new = outer.path().join("a/b");
        create_folder(&new).unwrap();
        assert_eq!((mode(&new), mode(new.parent().unwrap())), (0o700, 0o700));
        fs::set_permissions(&new, Permissions::from_mode(0o755)).unwrap();
        create_folder(&new).unwrap();
        assert_eq!(mode(&new), 0o755);
        let file = outer.path().join("file");
        fs::write(&file, "").unwrap();
        let error = create_folder(&file.join("x")).unwrap_err();
        assert!(error.to_string().starts_with("cannot create the folder '"), "{error}");
    }

    #[test]
    fn only_absence_counts_as_absent() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read_if_there(&folder.path().join("none")).unwrap().is_none());
        assert!(read_if_there(folder.path()).is_err());
    }
}
