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

-- What a test is called. Names stand once: results refer to them by number.
CREATE TABLE test_name (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    package TEXT NOT NULL,
    target_kind TEXT NOT NULL,
    target TEXT NOT NULL,
    UNIQUE (name, package, target_kind, target)
);

-- What came of a test, in words; those that are not known are empty.
CREATE TABLE outcome (
    id INTEGER PRIMARY KEY,
    verdict TEXT NOT NULL,
    reason TEXT NOT NULL,
    mode TEXT NOT NULL,
    test_code TEXT NOT NULL,
    metrics TEXT NOT NULL,
    UNIQUE (verdict, reason, mode, test_code, metrics)
);

CREATE TABLE function_name (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

-- A target that has tests of which a version does not say which: of them the step says nothing.
CREATE TABLE unlisted (
    step INTEGER NOT NULL REFERENCES step ON DELETE CASCADE,
    package TEXT NOT NULL,
    target_kind TEXT NOT NULL,
    target TEXT NOT NULL,
    PRIMARY KEY (step, package, target_kind, target)
) WITHOUT ROWID;

-- The typical change of a program over the tests that start it; changes and the threshold are fractions of base.
CREATE TABLE program (
    step INTEGER NOT NULL REFERENCES step ON DELETE CASCADE,
    name TEXT NOT NULL,
    tests INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    estimate REAL NOT NULL,
    low REAL NOT NULL,
    high REAL NOT NULL,
    threshold REAL NOT NULL,
    p_value REAL NOT NULL,
    PRIMARY KEY (step, name)
) WITHOUT ROWID;

-- A test that can have changed in a step; the code of other tests is equal, unless their target is in `unlisted`. Figures are whole numbers, which
-- take half the room: changes in billionths, times in picoseconds, effect sizes in millionths; NULL where not known.
CREATE TABLE result (
    step INTEGER NOT NULL REFERENCES step ON DELETE CASCADE,
    test INTEGER NOT NULL REFERENCES test_name,
    outcome INTEGER NOT NULL REFERENCES outcome,
    estimate INTEGER,
    low INTEGER,
    high INTEGER,
    base INTEGER,
    head INTEGER,
    effect INTEGER,
    function INTEGER REFERENCES function_name,
    PRIMARY KEY (step, test)
) WITHOUT ROWID;

-- The same for people: changes are fractions, times in ns.
CREATE VIEW test AS
SELECT
    result.step, test_name.package, test_name.target_kind, test_name.target, test_name.name, outcome.verdict,
    nullif(outcome.reason, '') AS reason, result.estimate / 1e9 AS estimate, result.low / 1e9 AS low,
    result.high / 1e9 AS high, result.base / 1e3 AS base_ns, result.head / 1e3 AS head_ns,
    nullif(outcome.mode, '') AS mode, result.effect / 1e6 AS effect, function_name.name AS function,
    nullif(outcome.test_code, '') AS test_code, outcome.metrics
FROM result
JOIN test_name ON test_name.id = result.test
JOIN outcome ON outcome.id = result.outcome
LEFT JOIN function_name ON function_name.id = result.function;

-- A commit that cannot be compared, and why, as JSON.
CREATE TABLE skipped (
    commit_id TEXT NOT NULL,
    terms TEXT NOT NULL,
    machine TEXT NOT NULL,
    why TEXT NOT NULL,
    PRIMARY KEY (commit_id, terms, machine)
);
