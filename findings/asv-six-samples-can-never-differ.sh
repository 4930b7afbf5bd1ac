#!/usr/bin/env bash
# asv 0.6.6 (airspeed velocity) with asv_runner 0.3.2, Python 3.11. Needs python3 with venv, git and the PyPI registry.
#
# `asv compare` and `asv continuous` call a difference significant if a Mann-Whitney test on the recorded samples gives
# p < 0.002. Where too few samples exist for such a p-value, they compare confidence intervals instead; the source says that the
# test is used "only if there's enough data so that the test can return True". For that, asv compares 1 / C(m + n, m) with
# 0.002. The test is two-sided, so its smallest p-value is 2 / C(m + n, m). In between, the test is used and cannot succeed:
#
# - Six samples a side: the smallest p-value is 2/924 = 0.00216. A benchmark that takes twice as long, without any noise, is
#   reported as not significantly changed. Five or seven samples of the same benchmark report the change. `repeat = 3` gives six
#   samples because asv runs two rounds, and by default a benchmark of about 3 s gets six samples too. 4 against 9, 5 against 7
#   and 3 against 15 or 16 samples have the same gap.
# - Three samples against 21 or more: asv replaces the exact test by the normal approximation, without a correction, as soon as
#   one side has more than 20 samples. With three on the other side, z never goes below -3 and p never below 0.0026. The exact
#   p-value of complete separation of 3 and 24 samples is 2/2925 = 0.00068.
#
# More samples therefore make a change disappear.
#
# The benchmarks below use asv's attribute `timer` with a simulated clock: a call takes 1 s at the base, 2 s at the head, plus a
# millisecond more with each call. The exact p-values are counted over all ways to assign the ranks.
#
# Output seen (change that asv prints, ratio, benchmark; number of samples, exact p-value):
#   + 2.00 times.Five.time_call
#   ~2.00 times.Six.time_call
#   + 2.00 times.Seven.time_call
#   + 2.00 times.Sixteen.time_call
#   ~2.01 times.Three.time_call
#   6 6 0.00216
#   3 24 0.00068
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check asv==0.6.6 asv_runner==0.3.2
mkdir project
cd project
git init --quiet --initial-branch main
for name in base head; do
    git -c user.name=a -c user.email=a@example.org commit --quiet --allow-empty --message "$name"
done
cat > asv.conf.json <<'EOF'
{"version": 1, "project": "clock", "repo": ".", "branches": ["main"], "environment_type": "existing",
 "benchmark_dir": "benchmarks", "results_dir": "results"}
EOF
mkdir benchmarks
touch benchmarks/__init__.py
cat > benchmarks/times.py <<'EOF'
import os

seconds = int(os.environ["SECONDS_PER_CALL"])
clock = 0.0
calls = 0


class _Call:
    timer = staticmethod(lambda: clock)
    number = 1
    rounds = 1
    warmup_time = 0

    def time_call(self):
        global clock, calls
        calls += 1
        clock += seconds + calls / 1000


class Five(_Call):
    repeat = 5


class Six(_Call):
    repeat = 6


class Seven(_Call):
    repeat = 7


class Sixteen(_Call):
    repeat = 16 if seconds == 1 else 24


class Three(_Call):
    repeat = 3 if seconds == 1 else 24
EOF
asv=$work/venv/bin/asv
"$asv" machine --yes --machine one > log 2>&1
for seconds in 1 2; do
    commit=$(git rev-parse "HEAD~$((2 - seconds))")
    SECONDS_PER_CALL=$seconds "$asv" run --machine one --environment "existing:$work/venv/bin/python" \
        --set-commit-hash "$commit" --record-samples >> log 2>&1 || { cat log >&2; exit 1; }
done
compared=$("$asv" compare 'HEAD~1' HEAD)
line() {
    sed -n "s/^| *\([+-]\{0,1\}\) *|.*| *\(~\{0,1\}[0-9.]*\) *| \(times\.$1\.time_call\) *|\$/\1 \2 \3/p" <<< "$compared" | sed 's/^ //'
}
cat > exact.py <<'EOF'
from itertools import combinations

for m, n in [(6, 6), (3, 24)]:
    ranks = range(1, m + n + 1)
    middle = m * (m + n + 1) / 2
    sums = [abs(sum(chosen) - middle) for chosen in combinations(ranks, m)]
    # The lowest ranks are all on one side: the rank sum is as far from its middle as it can be.
    separated = abs(sum(ranks[:m]) - middle)
    print(m, n, f"{sum(s >= separated for s in sums) / len(sums):.5f}")
EOF
seen=$(for name in Five Six Seven Sixteen Three; do line "$name"; done; python3 exact.py)
echo "$seen"
expected='+ 2.00 times.Five.time_call
~2.00 times.Six.time_call
+ 2.00 times.Seven.time_call
+ 2.00 times.Sixteen.time_call
~2.01 times.Three.time_call
6 6 0.00216
3 24 0.00068'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
