-- What was lost of what was acknowledged in a fault, as far as its seconds are not kept any more; of layout 5.
CREATE TABLE IF NOT EXISTS fault_loss (
    subject INTEGER NOT NULL REFERENCES subject (id),
    number  INTEGER NOT NULL,
    due_s   REAL NOT NULL,
    lost    INTEGER NOT NULL,
    PRIMARY KEY (subject, number, due_s)
) STRICT, WITHOUT ROWID;
