use std::cell::Cell;
use std::path::PathBuf;

use toolwright::testing::journal_conformance_with;
use toolwright_sqlite::SqliteJournal;

use crate::{Directory, fast};

#[tokio::test]
async fn it_does_what_every_journal_must() {
    let directory = Directory::new("conformance");
    let count = Cell::new(0);
    let newest: Cell<Option<PathBuf>> = Cell::new(None);
    let make = || {
        count.set(count.get() + 1);
        let path = directory.path(&format!("{}.sqlite", count.get()));
        newest.set(Some(path.clone()));
        fast(&path)
    };
    let reload = |journal: SqliteJournal| {
        drop(journal);
        let path = newest.take().unwrap();
        newest.set(Some(path.clone()));
        fast(&path)
    };
    for result in journal_conformance_with(make, reload).await {
        assert_eq!(result.outcome, Ok(()), "{}", result.name);
    }
    // Whatever a journal went through there, it is whole.
    for number in 1..=count.get() {
        let found = fast(&directory.path(&format!("{number}.sqlite"))).verify().unwrap();
        assert_eq!(found.wrong, Vec::new(), "journal {number}");
    }
}
