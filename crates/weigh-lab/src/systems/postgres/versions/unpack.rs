//! A jar with one `.txz` in it, onto the disk.
//!
//! Nothing is written outside the directory asked for (`tar` refuses to climb), no owners are taken over, and
//! a cut file is an error.

use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use lzma_rust2::XzReader;

/// Unpacks the server in a jar into `dir`.
///
/// # Errors
/// When it holds no `.txz`, or anything in it cannot be read or written.
pub(super) fn jar(jar: &[u8], dir: &Path) -> io::Result<()> {
    let mut archive = zip::ZipArchive::new(Cursor::new(jar)).map_err(io::Error::other)?;
    let name =
        archive.file_names().flatten().find(|name| name.ends_with(".txz")).map(|name| name.into_owned());
    let name = name.ok_or_else(|| io::Error::other("there is no `.txz` in it"))?;
    let packed = archive.by_name(&name).map_err(io::Error::other)?;
    let mut unpacked = XzReader::new(BufReader::new(packed), true);
    std::fs::create_dir_all(dir)?;
    let mut tree = tar::Archive::new(&mut unpacked);
    tree.set_preserve_permissions(false);
    tree.set_preserve_mtime(false);
    tree.unpack(dir)?;
    // The sum at the end is only looked at by who reads as far.
    io::copy(&mut unpacked.by_ref(), &mut io::sink()).map(|_| ())
}
