#!/usr/bin/env bash
# abforge 0.1.0, numpy 2.4.6, scipy 1.17.1, Python 3.11. Needs python3 with venv and the PyPI registry.
#
# `SequentialTest` compares two rates, for instance how many calls of two versions meet their deadline, and may be asked again
# as more calls arrive. This is meant to be possible "without inflating the false positive rate": a spending function says how much
# of the 5 % may be used up by each look. But each look uses the boundary of a single test at all that may be used up by then,
# instead of at what has been added since the look before. What earlier looks have used is spent once more:
#
# - Without any difference, one look is significant in 5.0 % of cases, one of two in 6.9 % and one of ten in 11.9 %, with the
#   function "pocock". With "obrien_fleming", the default, one of ten is in 6.9 %.
# - The last boundary of z is 1.96 for any function and any number of looks, as if nobody had looked before. Boundaries that spend
#   what has been added are computed below from the same function. They keep the 5 %, and the last of ten is 2.47 for "pocock".
#
# A second surprise is the end for futility. The test is two-sided by default. The probability that it still becomes significant is
# that of a larger rate only. If the new version misses its deadline more often, but not yet significantly, the result is "futile
# to continue". With the two versions exchanged, the same numbers give "continue".
#
# The probabilities are integrated numerically from look to look, with the boundaries of `evaluate`.
#
# Output seen (spending function, looks: last boundary of abforge, and of the one that spends what has been added; probability in %
# that a difference is found where there is none, for both. Then calls of 5,000 old and 5,000 new ones in time: z, decision):
#   obrien_fleming, 1: 1.96 1.96; 5.0 5.0
#   obrien_fleming, 2: 1.96 1.98; 5.2 5.0
#   obrien_fleming, 10: 1.96 2.12; 6.9 5.0
#   pocock, 1: 1.96 1.96; 5.0 5.0
#   pocock, 2: 1.96 2.20; 6.9 5.0
#   pocock, 10: 1.96 2.47; 11.9 5.0
#   4500 4575: 2.59, continue
#   4575 4500: -2.59, stop_futile
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work MPLBACKEND=agg
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check abforge==0.1.0 numpy==2.4.6 scipy==1.17.1
cat > looks.py <<'EOF'
import numpy as np
from abforge import SequentialTest
from scipy.optimize import brentq
from scipy.stats import norm

NUMBER = 100_000


class Walk:
    """The distribution of z without a difference, as far as no boundary has been crossed."""

    def __init__(self):
        self.time = 0
        self.places, self.density = np.zeros(1), np.ones(1)  # one place of weight 1

    def look(self, time, boundary):
        """Returns the walk after a look at `time`, and the probability that it ends there."""
        limit = min(boundary, 8) * time**0.5
        places, width = np.linspace(-limit, limit, 401, retstep=True)
        steps = norm.pdf(places[:, None] - self.places, scale=(time - self.time) ** 0.5)
        after = Walk()
        after.time, after.places = time, places
        after.density = steps @ self.density * width
        after.density[[0, -1]] /= 2
        return after, self.density.sum() - after.density.sum()


for spending in ["obrien_fleming", "pocock"]:
    for looks in [1, 2, 10]:
        test = SequentialTest(max_n=NUMBER, spending=spending)
        walk, found = Walk(), 0
        exact_walk, exact_found = Walk(), 0
        for look in range(1, looks + 1):
            calls = NUMBER * look // looks
            result = test.evaluate(calls // 2, calls, calls // 2, calls)
            assert result.upper_boundary == -result.lower_boundary
            time = look / looks
            walk, ended = walk.look(time, result.upper_boundary)
            found += ended
            left = result.alpha_spent - exact_found
            if left < 1e-6:
                exact = 8
            else:
                exact = brentq(lambda b: exact_walk.look(time, b)[1] - left, 0.5, 8, xtol=1e-5)
            exact_walk, ended = exact_walk.look(time, exact)
            exact_found += ended
        print(
            f"{spending}, {looks}: {result.upper_boundary:.2f} {exact:.2f};",
            f"{100 * found:.1f} {100 * exact_found:.1f}",
        )

for old, new in [(4500, 4575), (4575, 4500)]:
    result = SequentialTest(max_n=10_000).evaluate(old, 5000, new, 5000)
    print(f"{old} {new}: {result.z_score:.2f}, {result.decision}")
EOF
seen=$(OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 venv/bin/python looks.py)
echo "$seen"
expected='obrien_fleming, 1: 1.96 1.96; 5.0 5.0
obrien_fleming, 2: 1.96 1.98; 5.2 5.0
obrien_fleming, 10: 1.96 2.12; 6.9 5.0
pocock, 1: 1.96 1.96; 5.0 5.0
pocock, 2: 1.96 2.20; 6.9 5.0
pocock, 10: 1.96 2.47; 11.9 5.0
4500 4575: 2.59, continue
4575 4500: -2.59, stop_futile'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
