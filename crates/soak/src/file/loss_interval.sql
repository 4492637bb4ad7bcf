-- What was lost of stretches whose seconds are not kept any more; of layout 5.
CREATE TABLE IF NOT EXISTS loss_interval (
    level    INTEGER NOT NULL,         -- as that of an interval, from 1
    load     INTEGER NOT NULL REFERENCES load (id),
    start_s  REAL NOT NULL,
    length_s REAL NOT NULL,
    lost     INTEGER NOT NULL,
    torn     INTEGER NOT NULL,
    PRIMARY KEY (level, load, start_s)
) STRICT, WITHOUT ROWID;
