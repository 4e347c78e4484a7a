//! A store in a file: every key at one revision, with its revisions, and proof that it is whole.
//!
//! Made from any backend through its ordinary ranges while it runs ([`Backup`]), read back by
//! [`Archive`]; what is done with the keys is the business of the backend that restores them.
//!
//! The format, all numbers little-endian:
//!
//! ```text
//! header   "CRESTBAK", format u32 = 1, revision u64, crc32 u32 of the 20 bytes before it
//! record   length u32, crc32 u32 of the body, then the body of that length:
//!          create_revision u64, mod_revision u64, version u64, expires_at u64 (0: never),
//!          key length u32, key, value
//! footer   0xFFFFFFFF, crc32 u32 of the body, then the body: records u64, crc32 u32 of all the
//!          records' checksums one after the other
//! ```
//!
//! Records are in the order of their keys. A file without its footer, or with anything after it,
//! is damaged.

use std::{
    fs::{self, File},
    io::{self, BufReader, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::{BufMut, Bytes, BytesMut};

use crate::{Error, KeyRange, KeyValue, Range, Revision, Store, UnixSeconds};

const MAGIC: &[u8; 8] = b"CRESTBAK";
const FORMAT: u32 = 1;
const HEADER_BYTES: usize = 24;
const FOOTER: u32 = u32::MAX;
const FOOTER_BYTES: usize = 12;
/// Bound: what a reader believes a record can be: the largest transaction, and some.
const MAX_RECORD_BYTES: u32 = 64 << 20;
/// Bound: keys read from the store at once. Values are limited, so the memory is too.
const PAGE_KEYS: usize = 64;

/// What a backup holds.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub revision: Revision,
    pub records: u64,
}

/// A backup in the making: pieces to be written one after the other.
pub struct Backup {
    store: Arc<dyn Store>,
    revision: Revision,
    stage: Stage,
    records: u64,
    digest: crc32fast::Hasher,
}

enum Stage {
    Header,
    Records(KeyRange),
    Footer,
    Done,
}

impl Backup {
    /// Fixes the revision: what is written later is not in it.
    pub async fn start(store: Arc<dyn Store>) -> Result<Self, Error> {
        let revision = store.current().await?;
        Ok(Self { store, revision, stage: Stage::Header, records: 0, digest: crc32fast::Hasher::new() })
    }

    /// The next piece; `None` after the last. [`Error::Compacted`] when it took longer than the
    /// store keeps history: start again.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Header => {
                self.stage = Stage::Records(KeyRange::all());
                Ok(Some(encode_header(self.revision)))
            }
            Stage::Records(rest) => self.page(rest).await.map(Some),
            Stage::Footer => Ok(Some(self.encode_footer())),
            Stage::Done => Ok(None),
        }
    }

    pub fn summary(&self) -> Summary {
        Summary { revision: self.revision, records: self.records }
    }

    async fn page(&mut self, rest: KeyRange) -> Result<Bytes, Error> {
        let range = Range::values(rest.clone()).at(self.revision).limit(PAGE_KEYS).with_expiry();
        let page = self.store.range(range).await?;
        self.stage = match page.kvs.last() {
            Some(last) if page.more => Stage::Records(rest.behind(&last.key)),
            _ => Stage::Footer,
        };
        let mut out = BytesMut::new();
        for kv in &page.kvs {
            self.records += 1;
            self.digest.update(&encode_record(kv, &mut out).to_le_bytes());
        }
        Ok(out.freeze())
    }

    fn encode_footer(&self) -> Bytes {
        let mut body = [0; FOOTER_BYTES];
        body[..8].copy_from_slice(&self.records.to_le_bytes());
        body[8..].copy_from_slice(&self.digest.clone().finalize().to_le_bytes());
        let mut out = BytesMut::new();
        out.put_u32_le(FOOTER);
        out.put_u32_le(crc32fast::hash(&body));
        out.put_slice(&body);
        out.freeze()
    }
}

/// Why a backup could not be written.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("the store cannot be read")]
    Store(#[from] Error),
    #[error("cannot write {}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Writes a backup to a file that appears, under its name, only when it is whole and on disk.
///
/// Blocks the calling thread while it writes to the file.
pub async fn write_file(store: Arc<dyn Store>, path: &Path) -> Result<Summary, BackupError> {
    let failed = |source| BackupError::Io { path: path.to_path_buf(), source };
    let partial = PartialFile::create(path).map_err(failed)?;
    let mut backup = Backup::start(store).await?;
    while let Some(piece) = backup.next().await? {
        (&partial.file).write_all(&piece).map_err(failed)?;
    }
    partial.finish(path).map_err(failed)?;
    Ok(backup.summary())
}

/// A file under a temporary name, removed unless it is finished.
struct PartialFile {
    file: File,
    path: PathBuf,
}

impl PartialFile {
    fn create(target: &Path) -> io::Result<Self> {
        let mut name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        name.push(format!(".partial-{}", std::process::id()));
        let path = target.with_file_name(name);
        // Secrets are in it.
        let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        Ok(Self { file, path })
    }

    fn finish(&self, target: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, target)?;
        sync_parent(target)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // Gone already when it was finished.
        fs::remove_file(&self.path).ok();
    }
}

/// Makes a rename in the directory of `path` durable.
pub(crate) fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// Why a backup cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    #[error("this is not a backup")]
    NotABackup,
    #[error("the backup has format {found}, but this program reads format {FORMAT} only")]
    Format { found: u32 },
    #[error("the backup is damaged: {0}")]
    Damaged(&'static str),
    #[error("the backup cannot be read")]
    Io(#[source] io::Error),
}

/// A backup being read. Nothing in it counts before [`Archive::next`] has answered `None`.
pub struct Archive<R> {
    reader: BufReader<R>,
    revision: Revision,
    last_key: Bytes,
    records: u64,
    digest: crc32fast::Hasher,
}

impl<R: Read> Archive<R> {
    pub fn open(reader: R) -> Result<Self, ArchiveError> {
        let mut reader = BufReader::with_capacity(1 << 18, reader);
        let mut header = [0; HEADER_BYTES];
        reader.read_exact(&mut header).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => ArchiveError::NotABackup,
            _ => ArchiveError::Io(error),
        })?;
        let revision = decode_header(&header)?;
        let digest = crc32fast::Hasher::new();
        Ok(Self { reader, revision, last_key: Bytes::new(), records: 0, digest })
    }

    pub fn summary(&self) -> Summary {
        Summary { revision: self.revision, records: self.records }
    }

    /// The next key; `None` when all were read and the footer proves it.
    #[expect(clippy::should_implement_trait, reason = "an iterator would go on after an error")]
    pub fn next(&mut self) -> Result<Option<KeyValue>, ArchiveError> {
        let length = self.number()?;
        let checksum = self.number()?;
        if length == FOOTER {
            return self.finish(checksum).map(|()| None);
        }
        if length > MAX_RECORD_BYTES {
            return Err(ArchiveError::Damaged("a record is impossibly long"));
        }
        let body = self.body(length as usize, checksum)?;
        let kv = decode_record(&body).ok_or(ArchiveError::Damaged("a record makes no sense"))?;
        if kv.mod_revision > self.revision || kv.create_revision > kv.mod_revision {
            return Err(ArchiveError::Damaged("a record is newer than the backup"));
        }
        if self.records > 0 && kv.key <= self.last_key {
            return Err(ArchiveError::Damaged("the records are out of order"));
        }
        self.records += 1;
        self.digest.update(&checksum.to_le_bytes());
        self.last_key = kv.key.clone();
        Ok(Some(kv))
    }

    fn finish(&mut self, checksum: u32) -> Result<(), ArchiveError> {
        let body = self.body(FOOTER_BYTES, checksum)?;
        let (records, digest) = body.split_at(8);
        if records != self.records.to_le_bytes() || digest != self.digest.clone().finalize().to_le_bytes() {
            return Err(ArchiveError::Damaged("records are missing"));
        }
        match self.reader.read(&mut [0]) {
            Ok(0) => Ok(()),
            Ok(_) => Err(ArchiveError::Damaged("something follows its end")),
            Err(error) => Err(ArchiveError::Io(error)),
        }
    }

    fn number(&mut self) -> Result<u32, ArchiveError> {
        let mut bytes = [0; 4];
        self.reader.read_exact(&mut bytes).map_err(cut_off)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn body(&mut self, length: usize, checksum: u32) -> Result<Vec<u8>, ArchiveError> {
        // Grows with what is there: a wrong length does not allocate.
        let mut body = Vec::new();
        (&mut self.reader).take(length as u64).read_to_end(&mut body).map_err(ArchiveError::Io)?;
        if body.len() < length {
            return Err(cut_off(io::ErrorKind::UnexpectedEof.into()));
        }
        if crc32fast::hash(&body) != checksum {
            return Err(ArchiveError::Damaged("a checksum does not match"));
        }
        Ok(body)
    }
}

fn cut_off(error: io::Error) -> ArchiveError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => ArchiveError::Damaged("its end is missing"),
        _ => ArchiveError::Io(error),
    }
}

fn encode_header(revision: Revision) -> Bytes {
    let mut out = BytesMut::with_capacity(HEADER_BYTES);
    out.put_slice(MAGIC);
    out.put_u32_le(FORMAT);
    out.put_u64_le(revision.0);
    let checksum = crc32fast::hash(&out);
    out.put_u32_le(checksum);
    out.freeze()
}

fn decode_header(header: &[u8; HEADER_BYTES]) -> Result<Revision, ArchiveError> {
    if !header.starts_with(MAGIC) {
        return Err(ArchiveError::NotABackup);
    }
    let (content, checksum) = header.split_at(20);
    if crc32fast::hash(content).to_le_bytes() != checksum {
        return Err(ArchiveError::Damaged("its beginning does not match its checksum"));
    }
    let mut fields = Fields(&content[8..]);
    match fields.u32() {
        Some(FORMAT) => fields.u64().map(Revision).ok_or(ArchiveError::NotABackup),
        Some(found) => Err(ArchiveError::Format { found }),
        None => Err(ArchiveError::NotABackup),
    }
}

/// Answers with the checksum of the body.
fn encode_record(kv: &KeyValue, out: &mut BytesMut) -> u32 {
    let start = out.len();
    out.put_u64_le(0); // length and checksum, known at the end
    out.put_u64_le(kv.create_revision.0);
    out.put_u64_le(kv.mod_revision.0);
    out.put_u64_le(kv.version);
    out.put_u64_le(kv.expires_at.map_or(0, |expires_at| expires_at.0));
    out.put_u32_le(u32::try_from(kv.key.len()).expect("Txn::check bounds keys"));
    out.put_slice(&kv.key);
    out.put_slice(&kv.value);
    let body = &out[start + 8..];
    let length = u32::try_from(body.len()).expect("Txn::check bounds values");
    let checksum = crc32fast::hash(body);
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    out[start + 4..start + 8].copy_from_slice(&checksum.to_le_bytes());
    checksum
}

fn decode_record(body: &[u8]) -> Option<KeyValue> {
    let mut fields = Fields(body);
    let (create, modified, version, expires) = (fields.u64()?, fields.u64()?, fields.u64()?, fields.u64()?);
    let key_length = fields.u32()? as usize;
    let (key, value) = fields.0.split_at_checked(key_length)?;
    Some(KeyValue {
        key: Bytes::copy_from_slice(key),
        value: Bytes::copy_from_slice(value),
        create_revision: Revision(create),
        mod_revision: Revision(modified),
        version,
        expires_at: (expires > 0).then_some(UnixSeconds(expires)),
    })
}

/// Takes numbers off the front.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn u32(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*number))
    }

    fn u64(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }
}
