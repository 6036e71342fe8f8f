//! Writing what was converted.

use std::fs;
use std::io::{self, Write};
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::files::pretty;
use crate::manifest::Value;

/// Whether a file may be written, as far as its permissions tell: replacing it needs those of its folder only.
///
/// # Errors
/// When it may not, or is not there.
pub fn may_be_replaced(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.permissions().readonly() {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "it is read-only",
        ));
    }
    Ok(())
}

/// Replaces the text of a file: whoever reads it meanwhile reads the old one or the new one. Its permissions stay, its owner where the
/// system allows that, and a link to it stays a link.
///
/// # Errors
/// When the system does not let it be written; the old text is then still there.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    let old = fs::metadata(&path)?;
    #[cfg(unix)]
    let _ = fchown(file.as_file(), Some(old.uid()), Some(old.gid()));
    fs::set_permissions(file.path(), old.permissions())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// The texts of several files as one that has the same documents.
pub fn joined<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let mut joined = String::new();
    for text in texts {
        if !joined.is_empty() {
            if !joined.ends_with('\n') {
                joined.push('\n');
            }
            if !text.starts_with("---") {
                joined.push_str("---\n");
            }
        }
        joined.push_str(text);
    }
    joined
}

/// The documents as JSON: the one that there is, or a List of them.
pub fn json<'v>(documents: impl Iterator<Item = &'v Value>) -> String {
    let mut items: Vec<Value> = documents.cloned().collect();
    let whole = if items.len() == 1 {
        items.remove(0)
    } else {
        let text = |text: &str| Value::String(text.to_owned());
        Value::Object(vec![
            ("apiVersion".to_owned(), text("v1")),
            ("kind".to_owned(), text("List")),
            ("items".to_owned(), Value::Array(items)),
        ])
    };
    pretty(&whole, "    ") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_joined_by_separators_where_they_bring_none() {
        let joined = |texts: &[&str]| joined(texts.iter().copied());
        assert_eq!(
            joined(&["a: 1", "b: 2\n", "---\nc: 3\n"]),
            "a: 1\n---\nb: 2\n---\nc: 3\n"
        );
        assert_eq!(joined(&["a: 1"]), "a: 1");
    }

    #[cfg(unix)]
    #[test]
    fn a_replaced_file_keeps_its_permissions_and_owner_and_a_link_stays_a_link() {
        use std::os::unix::fs::{PermissionsExt, chown, symlink};

        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        // Only root gives files away.
        let _ = chown(&file, Some(1), Some(1));
        let owner = fs::metadata(&file).unwrap().uid();

        replace(&link, "new").unwrap();

        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o640
        );
        assert_eq!(fs::metadata(&file).unwrap().uid(), owner);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
