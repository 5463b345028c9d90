//! Where SQLite's errors become the journal's. Nothing of SQLite leaves this crate.

use std::path::Path;

use rusqlite::ErrorCode;
use rusqlite::ffi;
use toolwright::JournalError;
use toolwright::journal::JournalErrorKind;

/// What went wrong inside.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// SQLite said no.
    Sql(rusqlite::Error),
    /// What was read is not what was written.
    Damaged(String),
    /// An answer by the journal's own rules.
    No(JournalError),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<JournalError> for Trouble {
    fn from(error: JournalError) -> Self {
        Self::No(error)
    }
}

pub(crate) type Fallible<T> = Result<T, Trouble>;

fn extended(error: &rusqlite::Error) -> Option<(ErrorCode, i32)> {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => Some((failure.code, failure.extended_code)),
        _ => None,
    }
}

/// Whether nothing may be written to this file any more before somebody looked at it: after a sync that failed nobody
/// knows what is on the disk, and a damaged file is not written to.
pub(crate) fn stops(trouble: &Trouble) -> bool {
    match trouble {
        Trouble::Sql(error) => match extended(error) {
            Some((ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase, _)) => true,
            Some((_, code)) => matches!(code, ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC | ffi::SQLITE_IOERR_TRUNCATE),
            None => false,
        },
        Trouble::Damaged(_) | Trouble::No(_) => false,
    }
}

/// Whether it may be only one of many records that cannot be written.
pub(crate) fn may_concern_one(trouble: &Trouble) -> bool {
    let Trouble::Sql(error) = trouble else { return false };
    matches!(extended(error), Some((ErrorCode::DiskFull | ErrorCode::TooBig | ErrorCode::OutOfMemory, _)))
}

/// Whether what SQLite keeps beside the file cannot be made.
pub(crate) fn cannot_open(error: &rusqlite::Error) -> bool {
    matches!(extended(error), Some((ErrorCode::CannotOpen | ErrorCode::ReadOnly, _)))
}

/// The journal's error, in words. `writing`: something was to be written.
pub(crate) fn told(trouble: Trouble, file: &Path, writing: bool) -> JournalError {
    let file = file.display();
    let error = match trouble {
        Trouble::No(error) => return error,
        Trouble::Damaged(what) => return corrupt(&file, &what),
        Trouble::Sql(error) => error,
    };
    let plain = if writing { JournalErrorKind::Unwritable } else { JournalErrorKind::Unreadable };
    let Some((code, extended)) = extended(&error) else {
        return match error {
            // A column holds something that was never written there.
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..) => corrupt(&file, &format!("a column holds what was never written there: {error}")),
            other => JournalError::new(plain, format!("`{file}`: {other}")),
        };
    };
    let why = match code {
        ErrorCode::DatabaseCorrupt => return corrupt(&file, &format!("SQLite finds its pages damaged ({error})")),
        ErrorCode::Unknown | ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch => {
            return corrupt(&file, &format!("its tables are not those of a journal ({error})"));
        }
        ErrorCode::NotADatabase => return corrupt(&file, "it is no journal, or its first page is damaged"),
        ErrorCode::DiskFull => "the disk, or the size that the journal may have, is full".to_owned(),
        ErrorCode::ReadOnly => "it, or its directory, is read-only".to_owned(),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            format!("another process has been writing to it for {} s", crate::format::BUSY_SECONDS)
        }
        ErrorCode::CannotOpen => "it cannot be opened: look whether its directory is there and may be used".to_owned(),
        ErrorCode::PermissionDenied => "this user may not use it".to_owned(),
        ErrorCode::SystemIoFailure if stops(&Trouble::Sql(sqlite(code, extended))) => {
            "the disk did not confirm a write, so nothing more is written to it until it is opened again".to_owned()
        }
        ErrorCode::SystemIoFailure => format!("the disk refused it ({error})"),
        ErrorCode::TooBig => "a record is larger than SQLite takes".to_owned(),
        ErrorCode::OutOfMemory => "there is no memory left".to_owned(),
        _ => error.to_string(),
    };
    JournalError::new(plain, format!("`{file}`: {why}"))
}

fn sqlite(code: ErrorCode, extended_code: i32) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error { code, extended_code }, None)
}

/// Something else than a journal that can be used here.
pub(crate) fn foreign(file: &impl std::fmt::Display, what: &str) -> JournalError {
    JournalError::new(JournalErrorKind::Foreign, format!("`{file}`: {what}; the file is left as it is"))
}

/// A damaged journal, with the place.
pub(crate) fn corrupt(file: &impl std::fmt::Display, what: &str) -> JournalError {
    JournalError::new(JournalErrorKind::Corrupt, format!("`{file}`: {what}; the file is left as it is"))
}
