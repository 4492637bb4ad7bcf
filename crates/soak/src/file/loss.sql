-- Requests that a server had acknowledged and did not keep; of layout 3.
CREATE TABLE IF NOT EXISTS loss (
    load INTEGER NOT NULL REFERENCES load (id),
    at_s REAL NOT NULL,                -- the begin of the second in which they were acknowledged
    lost INTEGER NOT NULL,
    torn INTEGER NOT NULL,             -- those of them of which something is there
    PRIMARY KEY (load, at_s)
) STRICT, WITHOUT ROWID;
