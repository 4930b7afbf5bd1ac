#!/usr/bin/env bash
# frouros 0.9.0, numpy 2.1.3, scipy 1.14.1, Python 3.11. Needs python3 with venv and the PyPI registry.
#
# `STEPD` of frouros detects a change of the rate of failures while the results arrive, 1 for a success and 0 for a failure. It
# compares the last 30 results with all before by the "statistical test of equal proportions". If the two rates are almost equal,
# and failures are rare, it reports a change at a level of 0.3 %:
#
# - Without any failure, the 60th success in a row, the first value that is tested at all, is a change, and each success after it.
#   The same holds if all fail. Whoever starts anew after a change, as usual, gets another one every 60 values.
# - With one failure, the 10th value, there is no change up to the 994th value. The 995th, another success, is one, and so is each
#   success after it: the longer all is well, the more certain the change. With two failures it begins at the 2,017th value.
#
# The test subtracts a continuity correction from the difference of the rates, and divides by the standard error. If the difference
# is smaller than the correction, the result is below 0, and should count as no difference at all. The detector takes its absolute
# value, so that a lack of difference becomes a difference. The fewer failures there are, the smaller the standard error, and the
# larger the result. Without any it is infinite. Only then does numpy print a warning, about a division by zero.
#
# With each 20th result a failure, nothing is reported, and a rate that rises from 10 to 50 % is found after 14 values, so that
# the usual examples work. If a failure is counted as 1 instead, everything is the same.
#
# Output seen (results: number of values that are reported as a change, the first of them; failures among the last 30 values and
# before at that time, and the exact two-sided p-value by Fisher's test; number of changes if the detector is reset after each):
#   2000 without failure: 1941, 60; 0/30 0/30, 1.0000; 33
#   2000 with every failure: 1941, 60; 30/30 30/30, 1.0000; 33
#   2000 with failure 10: 1006, 995; 0/30 1/965, 1.0000; 17
#   4000 with failures 10, 20: 1984, 2017; 0/30 2/1987, 1.0000; 34
#   2000 with each 20th failing: 0
#   1000 with each 10th, 1000 with each 2nd failing: 683, 1014; 9/30 98/984, 0.0025; 1
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work MPLBACKEND=agg
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check frouros==0.9.0 numpy==2.1.3 scipy==1.14.1 matplotlib==3.9.4
cat > results.py <<'EOF'
import warnings
from math import comb

from frouros.detectors.concept_drift import STEPD

# numpy's warning of a division by zero, which only the histories with equal results give
warnings.simplefilter("ignore", RuntimeWarning)


def changes(results, reset):
    """Returns the places, counted from 1, after which the detector reports a change."""
    detector = STEPD()
    places = []
    for place, result in enumerate(results, 1):
        detector.update(value=result)
        if detector.drift:
            places.append(place)
            if reset:
                detector.reset()
    return places


def fisher(failed, number, failed_before, number_before):
    """Returns how probable an outcome is that is at most as probable as the given one, all else being equal."""
    failures = failed + failed_before
    ways = [comb(number, k) * comb(number_before, failures - k) for k in range(failures + 1)]
    return sum(w for w in ways if w <= ways[failed]) / sum(ways)


def show(name, results):
    places = changes(results, reset=False)
    if not places:
        print(f"{name}: 0")
        return
    seen = results[: places[0]]
    last, before = seen[-30:], seen[:-30]
    failed, failed_before = last.count(0), before.count(0)
    p = fisher(failed, 30, failed_before, len(before))
    print(
        f"{name}: {len(places)}, {places[0]}; {failed}/30 {failed_before}/{len(before)}, {p:.4f};",
        len(changes(results, reset=True)),
    )


def history(number, fails):
    return [0 if fails(place) else 1 for place in range(1, number + 1)]


show("2000 without failure", history(2000, lambda place: False))
show("2000 with every failure", history(2000, lambda place: True))
show("2000 with failure 10", history(2000, lambda place: place == 10))
show("4000 with failures 10, 20", history(4000, lambda place: place in (10, 20)))
show("2000 with each 20th failing", history(2000, lambda place: place % 20 == 0))
show(
    "1000 with each 10th, 1000 with each 2nd failing",
    history(1000, lambda place: place % 10 == 0) + history(1000, lambda place: place % 2 == 0),
)
EOF
seen=$(venv/bin/python results.py)
echo "$seen"
expected='2000 without failure: 1941, 60; 0/30 0/30, 1.0000; 33
2000 with every failure: 1941, 60; 30/30 30/30, 1.0000; 33
2000 with failure 10: 1006, 995; 0/30 1/965, 1.0000; 17
4000 with failures 10, 20: 1984, 2017; 0/30 2/1987, 1.0000; 34
2000 with each 20th failing: 0
1000 with each 10th, 1000 with each 2nd failing: 683, 1014; 9/30 98/984, 0.0025; 1'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
