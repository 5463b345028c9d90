use std::cell::Cell;
use std::path::PathBuf;

use toolwright::testing::journal_conformance_with;
use toolwright_sqlite::{SqliteJournal, SqliteOptions, Synchronous};

/// What a journal must do does not depend on how long the disk takes.
fn open(path: PathBuf) -> SqliteJournal {
    let mut options = SqliteOptions::default();
    options.synchronous = Synchronous::Normal;
    SqliteJournal::open_with(path, options).unwrap()
}

#[tokio::test]
async fn it_does_what_every_journal_must() {
    let directory = crate::Directory::new("conformance");
    let count = Cell::new(0);
    let newest: Cell<Option<PathBuf>> = Cell::new(None);
    let make = || {
        count.set(count.get() + 1);
        let path = directory.path(&format!("{}.sqlite", count.get()));
        newest.set(Some(path.clone()));
        open(path)
    };
    let reload = |journal: SqliteJournal| {
        drop(journal);
        let path = newest.take().unwrap();
        open(path)
    };
    for result in journal_conformance_with(make, reload).await {
        assert_eq!(result.outcome, Ok(()), "{}", result.name);
    }
}
