-- How often a server ended by itself and was started again; of layout 4.
CREATE TABLE IF NOT EXISTS endings (
    subject  INTEGER PRIMARY KEY REFERENCES subject (id),
    deaths   INTEGER NOT NULL,
    restarts INTEGER NOT NULL
) STRICT;
