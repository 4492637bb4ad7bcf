-- A fault that was made to a server; of layout 2.
CREATE TABLE IF NOT EXISTS fault (
    subject     INTEGER NOT NULL REFERENCES subject (id),
    number      INTEGER NOT NULL,      -- its position in the plan, from 0
    due_s       REAL NOT NULL,         -- seconds under load
    at_s        REAL NOT NULL,
    until_s     REAL,                  -- none while it goes on
    kind        TEXT NOT NULL,
    what        TEXT NOT NULL,         -- what was done, or why nothing was
    command     TEXT NOT NULL,
    was_made    INTEGER NOT NULL,
    server_died INTEGER NOT NULL,      -- it was started again at the end of the fault
    effect      TEXT,                  -- what clients saw, as JSON; none while that is not known
    PRIMARY KEY (subject, number, due_s)
) STRICT, WITHOUT ROWID;
