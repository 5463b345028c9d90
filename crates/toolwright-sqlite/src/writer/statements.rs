//! The statements of the writer, prepared once.

use rusqlite::{Connection, Statement};

use crate::format::OF_RUN;
use crate::record::COLUMNS;
use crate::wire::Fallible;

pub(super) struct Statements<'c> {
    pub(super) begin: Statement<'c>,
    pub(super) commit: Statement<'c>,
    pub(super) data_version: Statement<'c>,
    pub(super) newest: Statement<'c>,
    pub(super) find_run: Statement<'c>,
    pub(super) run: Statement<'c>,
    pub(super) insert_run: Statement<'c>,
    pub(super) reopen: Statement<'c>,
    pub(super) settle: Statement<'c>,
    pub(super) settle_ended: Statement<'c>,
    pub(super) insert_claim: Statement<'c>,
    pub(super) claim: Statement<'c>,
    pub(super) release: Statement<'c>,
    pub(super) insert_event: Statement<'c>,
    pub(super) event: Statement<'c>,
    pub(super) events: Statement<'c>,
    pub(super) later: Statement<'c>,
    pub(super) tool_at: Statement<'c>,
    pub(super) find_blob: Statement<'c>,
    pub(super) insert_blob: Statement<'c>,
    pub(super) blob: Statement<'c>,
    pub(super) insert_use: Statement<'c>,
}

impl<'c> Statements<'c> {
    pub(super) fn new(connection: &'c Connection) -> Fallible<Self> {
        let of = |sql: &str| connection.prepare(sql);
        let events = |which: &str| connection.prepare(&format!("SELECT {COLUMNS} FROM events WHERE {which}"));
        Ok(Self {
            begin: of("BEGIN IMMEDIATE")?,
            commit: of("COMMIT")?,
            data_version: of("PRAGMA data_version")?,
            newest: of("SELECT max(ifnull((SELECT max(id) FROM events), 0), ifnull((SELECT max(last_event) FROM pruned), 0))")?,
            find_run: of("SELECT key FROM runs WHERE id = ?1")?,
            run: of("SELECT epoch, count, head, begun, open, last FROM runs WHERE key = ?1")?,
            insert_run: of("INSERT INTO runs (id, tool, created, session, principal, owner, epoch, open, begun, count, last, head)
                            VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, 1, 0, 0, 0, ?7)")?,
            reopen: of("UPDATE runs SET epoch = ?2, owner = ?3, open = 1, ended = NULL, code = NULL WHERE key = ?1")?,
            settle: of("UPDATE runs SET count = ?2, head = ?3, begun = ?4, last = ?5 WHERE key = ?1")?,
            settle_ended: of("UPDATE runs SET count = ?2, head = ?3, begun = ?4, last = ?5, open = 0, ended = ?6, code = ?7
                              WHERE key = ?1")?,
            insert_claim: of("INSERT INTO claims VALUES (?1, ?2, ?3, 1, ?4)")?,
            claim: of("SELECT handle, held, claim FROM claims WHERE run = ?1 AND epoch = ?2")?,
            release: of("UPDATE claims SET held = 0 WHERE run = ?1 AND epoch = ?2")?,
            insert_event: of("INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)")?,
            event: events("id = ?1")?,
            events: events(&format!("id IN {OF_RUN} ORDER BY id"))?,
            later: of(&format!("SELECT id, path, tool, kind FROM events WHERE id IN {OF_RUN} AND kind >= 2 ORDER BY id"))?,
            tool_at: of(&format!("SELECT tool FROM events WHERE id IN {OF_RUN} AND kind = 2 AND path = ?3 LIMIT 1"))?,
            find_blob: of("SELECT id FROM blobs WHERE hash = ?1")?,
            insert_blob: of("INSERT INTO blobs (hash, body) VALUES (?1, ?2)")?,
            blob: of("SELECT body FROM blobs WHERE hash = ?1")?,
            insert_use: of("INSERT OR IGNORE INTO uses VALUES (?1, ?2)")?,
        })
    }
}
