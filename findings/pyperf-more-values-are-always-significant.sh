#!/usr/bin/env bash
# pyperf 2.11.0 with psutil 7.2.2, Python 3.11. Needs python3 with venv and the PyPI registry.
#
# `pyperf compare_to` hides benchmarks whose difference is not significant. It uses "a Student's two-sample, two-tailed t-test"
# on the values of both files. If one file has more values than the other, there is no test, and every difference is
# significant. The function that computes the score raises `ValueError` for unequal numbers of values, and the caller takes all
# errors for "significant". The plain list has a line about an error; `--table` and `--group-by-speed` do not.
#
# Unequal numbers are usual. `--append` adds the values of another run to a file, `--fast` takes a third of the values of the
# default, `--rigorous` takes twice as many, and `--processes` changes the number, too. To measure one side longer in order to
# be more certain makes every benchmark faster or slower.
#
# Below are a thousand benchmarks of 10 ms with a noise of 1 ms that do not change. Each has 60 values a side, as by default,
# and 56 are significant, near the 50 that a test at 5 % gives. With another 60 values for the head, all of them are. With
# another 60 values for the base, 45 are.
#
# Output seen:
#   base, head --table: 56 of 1000 significant
#   base, head --group-by-speed: 56 of 1000 significant
#   base, longer-head --table: 1000 of 1000 significant
#   base, longer-head --group-by-speed: 1000 of 1000 significant
#   longer-base, longer-head --table: 45 of 1000 significant
#   longer-base, longer-head --group-by-speed: 45 of 1000 significant
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pyperf==2.11.0 psutil==7.2.2
cat > write.py <<'EOF'
import random

import pyperf

noise = random.Random(1)


def more(values=()):
    return [*values, *(noise.gauss(0.010, 0.001) for _ in range(60))]


def write(file, suite):
    benchmarks = []
    for name, values in suite.items():
        # Three values a process, as by default.
        processes = [values[i : i + 3] for i in range(0, len(values), 3)]
        metadata = {"name": name, "loops": 1}
        runs = [pyperf.Run(three, metadata=metadata, collect_metadata=False) for three in processes]
        benchmarks.append(pyperf.Benchmark(runs))
    pyperf.BenchmarkSuite(benchmarks).dump(file)


base = {f"call{i}": more() for i in range(1000)}
head = {f"call{i}": more() for i in range(1000)}
write("base.json", base)
write("head.json", head)
write("longer-base.json", {name: more(values) for name, values in base.items()})
write("longer-head.json", {name: more(values) for name, values in head.items()})
EOF
venv/bin/python write.py
compare() {
    local report
    for option in --table --group-by-speed; do
        report=$(venv/bin/python -m pyperf compare_to "$option" "$1.json" "$2.json")
        echo "$1, $2 $option: $(grep -E -c '^(\| |- )call.*(faster|slower|no change)' <<< "$report") of 1000 significant"
    done
}
seen=$(compare base head; compare base longer-head; compare longer-base longer-head)
echo "$seen"
expected='base, head --table: 56 of 1000 significant
base, head --group-by-speed: 56 of 1000 significant
base, longer-head --table: 1000 of 1000 significant
base, longer-head --group-by-speed: 1000 of 1000 significant
longer-base, longer-head --table: 45 of 1000 significant
longer-base, longer-head --group-by-speed: 45 of 1000 significant'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
