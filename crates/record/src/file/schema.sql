-- Layout 8 of a record. Every change of this file raises `layout` in layout.rs, which says how an older one is brought forward,
-- and adds a line to docs/run-file.md.

-- One row: what was recorded.
CREATE TABLE run (
    kind            TEXT NOT NULL CHECK (kind IN ('run', 'soak')),
    id              TEXT NOT NULL,      -- random, hexadecimal
    command_line    TEXT NOT NULL,
    version         TEXT NOT NULL,      -- of Pitot
    started_at      TEXT NOT NULL,      -- RFC 3339
    ended_at        TEXT,
    state           TEXT NOT NULL CHECK (state IN ('running', 'complete', 'interrupted')),
    plan            TEXT NOT NULL,      -- JSON: the plan, checked; of a soak, what was asked for
    plan_source     TEXT NOT NULL,      -- TOML, as its author wrote it; empty without a plan
    seed            INTEGER NOT NULL,   -- of the order; 0 of a soak
    server_cpus     TEXT NOT NULL,      -- a CPU list: 0-3; empty of a soak, whose options have them
    load_cpus       TEXT NOT NULL,
    warnings        TEXT NOT NULL,      -- a JSON array of sentences
    server_versions TEXT NOT NULL       -- a JSON array of [name, version]
) STRICT;

-- The machine before and after.
CREATE TABLE fact (
    moment   TEXT NOT NULL CHECK (moment IN ('before', 'after')),
    position INTEGER NOT NULL,
    topic    TEXT NOT NULL,             -- cpu, memory, kernel, sysctl ...
    name     TEXT NOT NULL,
    value    TEXT NOT NULL,
    PRIMARY KEY (moment, position)
) STRICT, WITHOUT ROWID;

-- Hosts other than the lab's own.
CREATE TABLE host (
    position        INTEGER PRIMARY KEY,
    name            TEXT NOT NULL UNIQUE,
    does            TEXT NOT NULL,      -- server, load, server and load
    clock_offset_ns INTEGER NOT NULL,   -- how far its clock was ahead of the lab's
    clock_error_ns  INTEGER NOT NULL,
    round_trip_ns   INTEGER NOT NULL,
    facts           TEXT NOT NULL,      -- a list of group, name and value, as JSON
    facts_after     TEXT                -- the same after the last repetition
) STRICT;

-- ------------------------------------------------------------------ of a run

-- Combinations that did not become cells. factors: a JSON array of {name, level, number}.
CREATE TABLE skip (
    position INTEGER PRIMARY KEY,
    factors  TEXT NOT NULL,
    reason   TEXT NOT NULL
) STRICT;

CREATE TABLE cell (
    id             INTEGER PRIMARY KEY, -- ascending in the order of the plan
    server_command TEXT NOT NULL,
    load_command   TEXT NOT NULL,
    measure        TEXT NOT NULL,       -- fresh or slices
    fresh_reason   TEXT NOT NULL,       -- why it is not measured in slices, where the plan asks for them
    control_of     INTEGER REFERENCES cell (id)  -- it is the twin of this baseline cell
) STRICT;

CREATE TABLE factor (
    cell_id  INTEGER NOT NULL REFERENCES cell (id),
    position INTEGER NOT NULL,
    name     TEXT NOT NULL,
    level    TEXT NOT NULL,
    PRIMARY KEY (cell_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE repetition (
    id           INTEGER PRIMARY KEY,
    cell_id      INTEGER NOT NULL REFERENCES cell (id),
    block        INTEGER NOT NULL,      -- or generation; comparisons are paired by it
    position     INTEGER NOT NULL,      -- in the order of the whole run
    started_at   TEXT NOT NULL,
    elapsed_s    REAL NOT NULL,
    address      TEXT NOT NULL,
    ready_s      REAL NOT NULL,
    verdict      TEXT NOT NULL CHECK (verdict IN ('valid', 'client-bound', 'network-bound', 'rate-missed', 'noisy', 'failed')),
    reason       TEXT NOT NULL,
    figures      TEXT NOT NULL,         -- a JSON array of [name, value]: what the verdict was drawn from
    load         TEXT,                  -- what `pitot load --json` printed, histograms included
    server_stats TEXT,                  -- what the server printed with `--stats json`
    resources    TEXT,                  -- JSON: sums over the measured part
    output_tail  TEXT NOT NULL,         -- last lines that server, load and helpers printed, where it failed
    warmup_s     REAL,                  -- of a warm-up that lasted until the rate had settled
    host         TEXT NOT NULL,         -- who carried it out, by its name in `host`; empty: the lab's own machine
    UNIQUE (cell_id, block)
) STRICT;

-- The monitor's samples. Counters count from the repetition's first sample; NULL: not read in this sample.
CREATE TABLE sample (
    repetition_id              INTEGER NOT NULL REFERENCES repetition (id),
    at_ns                      INTEGER NOT NULL,  -- CLOCK_MONOTONIC
    server_processes           INTEGER,
    server_threads             INTEGER,
    server_descriptors         INTEGER,
    server_cpu_ns              INTEGER,
    server_user_ns             INTEGER,
    server_system_ns           INTEGER,
    server_rss_bytes           INTEGER,
    server_pss_bytes           INTEGER,
    server_run_delay_ns        INTEGER,
    server_switches_voluntary  INTEGER,
    server_switches_involuntary INTEGER,
    load_processes             INTEGER,
    load_threads               INTEGER,
    load_descriptors           INTEGER,
    load_cpu_ns                INTEGER,
    load_user_ns               INTEGER,
    load_system_ns             INTEGER,
    load_rss_bytes             INTEGER,
    load_pss_bytes             INTEGER,
    load_run_delay_ns          INTEGER,
    load_switches_voluntary    INTEGER,
    load_switches_involuntary  INTEGER,
    server_cpus_user_ns        INTEGER NOT NULL,
    server_cpus_system_ns      INTEGER NOT NULL,
    server_cpus_softirq_ns     INTEGER NOT NULL,
    server_cpus_steal_ns       INTEGER NOT NULL,
    load_cpus_user_ns          INTEGER NOT NULL,
    load_cpus_system_ns        INTEGER NOT NULL,
    load_cpus_softirq_ns       INTEGER NOT NULL,
    load_cpus_steal_ns         INTEGER NOT NULL,
    tcp_retransmits            INTEGER NOT NULL,
    listen_overflows           INTEGER NOT NULL,
    listen_drops               INTEGER NOT NULL,
    pressure_cpu_ns            INTEGER NOT NULL,
    pressure_memory_ns         INTEGER NOT NULL,
    pressure_io_ns             INTEGER NOT NULL,
    cost_ns                    INTEGER NOT NULL,
    server_private_bytes       INTEGER,           -- memory that belongs to no file
    PRIMARY KEY (repetition_id, at_ns)
) STRICT, WITHOUT ROWID;

-- Slices of a generation, of all its cells in turn. Times in nanoseconds.
CREATE TABLE slice (
    repetition_id    INTEGER NOT NULL REFERENCES repetition (id),
    round            INTEGER NOT NULL,      -- within the generation, from 0
    position         INTEGER NOT NULL,      -- within the round, from 0
    predecessor_id   INTEGER REFERENCES cell (id),  -- the cell whose slice came before
    began_unix_ns    INTEGER NOT NULL,      -- when the first request was sent
    late_ns          INTEGER NOT NULL,      -- from the command to the first request
    duration_ns      INTEGER NOT NULL,      -- from the first request until no new one was begun
    drain_ns         INTEGER NOT NULL,      -- from then until the last was answered
    requests         INTEGER NOT NULL,      -- right replies
    errors           INTEGER NOT NULL,
    missed           INTEGER NOT NULL,      -- arrivals of an open loop that were never begun
    received_bytes   INTEGER NOT NULL,
    sent_bytes       INTEGER NOT NULL,
    server_cpu_ns    INTEGER,               -- NULL: it could not be read exactly
    client_cpu_ns    INTEGER NOT NULL,
    steal_ns         INTEGER NOT NULL,      -- on all CPUs of both sides, in clock ticks
    p50_ns           INTEGER NOT NULL,      -- of the response time
    p90_ns           INTEGER NOT NULL,
    p99_ns           INTEGER NOT NULL,
    max_ns           INTEGER NOT NULL,
    pace_ns          INTEGER,               -- of a fixed piece of work on the server's CPUs; NULL: not measured. Older files lack it
    PRIMARY KEY (repetition_id, round, position)
) STRICT, WITHOUT ROWID;

-- What servers did in slices of their own, which do not count as measurements, or in seconds of a soak. Older files lack these
-- three tables.
CREATE TABLE profile (
    id               INTEGER PRIMARY KEY,
    repetition_id    INTEGER REFERENCES repetition (id),   -- NULL in a soak
    subject          INTEGER,               -- of a soak
    at_s             REAL,                  -- when, seconds since the soak began
    kind             TEXT NOT NULL,         -- cpu, off-cpu, counters, calls
    requests         INTEGER NOT NULL,      -- right replies meanwhile, or executions
    cpu_ns           INTEGER NOT NULL,      -- CPU time of the server meanwhile
    lost             INTEGER NOT NULL,      -- records for which the kernel had no room
    sees_kernel      INTEGER NOT NULL,      -- 1: the kernel's part is seen
    UNIQUE (repetition_id, subject, at_s, kind)
) STRICT;

-- Stacks (MODULE`FUNCTION;..., the outermost first), counters and system calls.
CREATE TABLE profile_name (
    id               INTEGER PRIMARY KEY,
    name             TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE profile_entry (
    profile_id       INTEGER NOT NULL REFERENCES profile (id),
    name_id          INTEGER NOT NULL REFERENCES profile_name (id),
    count            INTEGER NOT NULL,      -- samples, waits, events or calls
    ns               INTEGER NOT NULL,      -- how long waits and calls took
    PRIMARY KEY (profile_id, name_id)
) STRICT, WITHOUT ROWID;

-- Faults that were made in a repetition. Times are CLOCK_MONOTONIC, in nanoseconds, as those of samples.
CREATE TABLE fault (
    repetition_id    INTEGER NOT NULL REFERENCES repetition (id),
    number           INTEGER NOT NULL,      -- its position in the plan, from 0
    kind             TEXT NOT NULL,
    due_s            REAL NOT NULL,         -- when it was to begin, from the start of the measured part
    began_ns         INTEGER,               -- NULL: it was not made, and `what` says why
    ended_ns         INTEGER,               -- when it was taken back
    what             TEXT NOT NULL,         -- what was done
    command          TEXT NOT NULL,         -- the command that repeats it, empty if the lab itself has made it
    server_died      INTEGER NOT NULL,      -- 1: the server as a whole, which was started again at the fault's end
    PRIMARY KEY (repetition_id, number)
) STRICT, WITHOUT ROWID;

-- ----------------------------------------------------------------- of a soak
-- Times are seconds since it began.

CREATE TABLE subject (
    id       INTEGER PRIMARY KEY,
    name     TEXT NOT NULL,
    command  TEXT NOT NULL,             -- empty if it was running already
    deaths   INTEGER NOT NULL,          -- how often it ended by itself
    restarts INTEGER NOT NULL           -- how often it was started again
) STRICT;

CREATE TABLE load (
    id      INTEGER PRIMARY KEY,
    subject INTEGER NOT NULL REFERENCES subject (id),
    name    TEXT NOT NULL,
    command TEXT NOT NULL,
    totals  TEXT NOT NULL               -- counts since the soak began, as JSON
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
    open      INTEGER NOT NULL,         -- connections open at its end
    response  TEXT NOT NULL,            -- HdrHistogram V2, deflated, base64; nanoseconds
    PRIMARY KEY (level, load, start_s)
) STRICT, WITHOUT ROWID;

CREATE TABLE metric (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- A metric over a stretch of time. Subject 0 is the machine.
CREATE TABLE reading (
    subject  INTEGER NOT NULL,
    metric   INTEGER NOT NULL REFERENCES metric (id),
    level    INTEGER NOT NULL,
    start_s  REAL NOT NULL,
    length_s REAL NOT NULL,
    mean     REAL NOT NULL,
    min      REAL NOT NULL,
    max      REAL NOT NULL,
    PRIMARY KEY (level, subject, metric, start_s)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    id       INTEGER PRIMARY KEY,
    at_s     REAL NOT NULL,
    until_s  REAL,                      -- none for a moment, or while it goes on
    subject  INTEGER,                   -- none for the machine
    kind     TEXT NOT NULL,
    sentence TEXT NOT NULL,
    evidence TEXT NOT NULL
) STRICT;

-- A fault that was made to a server.
CREATE TABLE subject_fault (
    subject     INTEGER NOT NULL REFERENCES subject (id),
    number      INTEGER NOT NULL,       -- its position in the plan, from 0
    due_s       REAL NOT NULL,          -- seconds under load
    at_s        REAL NOT NULL,
    until_s     REAL,                   -- none while it goes on
    kind        TEXT NOT NULL,
    what        TEXT NOT NULL,          -- what was done, or why nothing was
    command     TEXT NOT NULL,
    was_made    INTEGER NOT NULL,
    server_died INTEGER NOT NULL,       -- it was started again at the end of the fault
    effect      TEXT,                   -- what clients saw, as JSON; none while that is not known
    lost        INTEGER NOT NULL,       -- of what was acknowledged in it, as far as its seconds are not kept any more
    PRIMARY KEY (subject, number, due_s)
) STRICT, WITHOUT ROWID;

-- Requests that a server had acknowledged and did not keep, by the second of that. Old ones are put together, as intervals are.
CREATE TABLE loss (
    level    INTEGER NOT NULL,
    load     INTEGER NOT NULL REFERENCES load (id),
    start_s  REAL NOT NULL,
    length_s REAL NOT NULL,
    lost     INTEGER NOT NULL,
    torn     INTEGER NOT NULL,          -- those of them of which something is there
    PRIMARY KEY (level, load, start_s)
) STRICT, WITHOUT ROWID;

-- For people with an SQLite shell: a line per repetition.
CREATE VIEW result AS
SELECT repetition.id AS repetition_id,
       (SELECT group_concat(level, ', ') FROM (SELECT level FROM factor WHERE cell_id = cell.id ORDER BY position))
           AS cell,
       block,
       verdict,
       load ->> '$.throughput_rps' AS throughput_rps,
       load ->> '$.latency_ns.response.p50' AS latency_p50_ns,
       load ->> '$.latency_ns.response.p99' AS latency_p99_ns,
       round((resources ->> '$.server_cpu_s') * 1e9
             / nullif((load ->> '$.throughput_rps') * (resources ->> '$.window_s'), 0)) AS cpu_per_request_ns,
       reason
FROM repetition JOIN cell ON cell.id = repetition.cell_id
ORDER BY cell.id, block;
