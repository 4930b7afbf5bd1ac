-- The commit in which the repository began.
CREATE TABLE project (beginning TEXT NOT NULL);

-- A commit (head) against an earlier one (base), under one set of options and toolchain (terms), on one model of
-- processor (machine).
CREATE TABLE step (
    id INTEGER PRIMARY KEY,
    base TEXT NOT NULL,
    head TEXT NOT NULL,
    terms TEXT NOT NULL,
    machine TEXT NOT NULL,
    found INTEGER NOT NULL,
    selected INTEGER NOT NULL,
    nothing_because TEXT,
    alpha REAL NOT NULL,
    seconds REAL NOT NULL,
    UNIQUE (base, head, terms, machine)
);

-- A test that can have changed in a step; the code of tests without a row is equal.
CREATE TABLE test (
    step INTEGER NOT NULL REFERENCES step ON DELETE CASCADE,
    package TEXT NOT NULL,
    target_kind TEXT NOT NULL,
    target TEXT NOT NULL,
    name TEXT NOT NULL,
    verdict TEXT NOT NULL,
    reason TEXT,
    estimate REAL,
    low REAL,
    high REAL,
    base_ns REAL,
    head_ns REAL,
    mode TEXT,
    effect REAL,
    function TEXT,
    test_code TEXT,
    metrics TEXT NOT NULL
);
CREATE INDEX test_of_step ON test (step);
CREATE INDEX test_by_name ON test (name, step);

-- A commit that cannot be compared, and why, as JSON.
CREATE TABLE skipped (
    commit_id TEXT NOT NULL,
    terms TEXT NOT NULL,
    machine TEXT NOT NULL,
    why TEXT NOT NULL,
    PRIMARY KEY (commit_id, terms, machine)
);
