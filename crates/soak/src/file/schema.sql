-- A soak. Times are seconds since it began.
CREATE TABLE soak (
    info  TEXT NOT NULL,               -- what was asked for, as JSON
    state TEXT NOT NULL                -- running, stopped or complete
) STRICT;

CREATE TABLE subject (
    id      INTEGER PRIMARY KEY,
    name    TEXT NOT NULL,
    command TEXT NOT NULL              -- empty if it was running already
) STRICT;

CREATE TABLE load (
    id      INTEGER PRIMARY KEY,
    subject INTEGER NOT NULL REFERENCES subject (id),
    name    TEXT NOT NULL,
    command TEXT NOT NULL,
    totals  TEXT NOT NULL              -- counts since the soak began, as JSON
) STRICT;

-- What a load did. Old intervals are put together: the level says how often.
CREATE TABLE interval (
    load      INTEGER NOT NULL REFERENCES load (id),
    level     INTEGER NOT NULL,
    start_s   REAL NOT NULL,
    length_s  REAL NOT NULL,
    completed INTEGER NOT NULL,
    errors    INTEGER NOT NULL,
    missed    INTEGER NOT NULL,
    received  INTEGER NOT NULL,
    open      INTEGER NOT NULL,        -- connections open at its end
    response  TEXT NOT NULL,           -- HdrHistogram V2, deflated, base64; nanoseconds
    PRIMARY KEY (level, load, start_s)
) STRICT, WITHOUT ROWID;

CREATE TABLE figure (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- A figure over a stretch of time. Subject 0 is the machine.
CREATE TABLE sample (
    subject  INTEGER NOT NULL,
    figure   INTEGER NOT NULL REFERENCES figure (id),
    level    INTEGER NOT NULL,
    start_s  REAL NOT NULL,
    length_s REAL NOT NULL,
    mean     REAL NOT NULL,
    min      REAL NOT NULL,
    max      REAL NOT NULL,
    PRIMARY KEY (level, subject, figure, start_s)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    id       INTEGER PRIMARY KEY,
    at_s     REAL NOT NULL,
    until_s  REAL,                     -- none for a moment, or while it goes on
    subject  INTEGER,                  -- none for the machine
    kind     TEXT NOT NULL,
    sentence TEXT NOT NULL,
    evidence TEXT NOT NULL
) STRICT;
