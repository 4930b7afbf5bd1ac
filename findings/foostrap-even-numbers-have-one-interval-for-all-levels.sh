#!/usr/bin/env bash
# foostrap 1.2.1, numpy 2.4.6, scipy 1.17.1, numba 0.68.1, Python 3.11. Needs python3 with venv and the PyPI registry.
#
# foostrap computes bootstrap intervals, by default by Efron's bias-corrected and accelerated method (BCa). The default statistic of
# `statistic="quantile"` is the median. The acceleration is computed from estimates that leave out one value. For a quantile,
# foostrap does not take these estimates but only how far each lies above its lower neighbor. With an even number of values, the
# median of the rest is a value itself, so all are 0, and the acceleration is 0 divided by 0. The levels of the interval become 0
# and 1:
#
# - The "95 %" interval goes from the least to the largest median of all resamples, and so does any other. More resamples make it
#   wider. With an odd number of values it is right.
# - One value more or less changes the meaning of the level: of 300 intervals for 20 values, 298 cover the true median, and of those
#   for 21 values, 273 (285 are expected).
#
# The second interval below is BCa by its definition, for the same resamples.
#
# Output seen (number of values: interval of foostrap, interval by definition, whether the former has the least and the largest
# median of the resamples):
#   99: 108.4 to 112.6, 108.4 to 112.7, False
#   100: 107.3 to 112.9, 107.9 to 111.7, True
#   101: 106.3 to 111.4, 106.3 to 111.4, False
#   102: 106.0 to 112.5, 107.9 to 110.9, True
#   different intervals for 50, 90 and 99 %: 1
#   20: covers 298 of 300
#   21: covers 273 of 300
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check \
    foostrap==1.2.1 numpy==2.4.6 scipy==1.17.1 numba==0.68.1
cat > intervals.py <<'EOF'
import warnings

import numpy as np
from foostrap.interface import foostrap
from scipy.stats import norm

warnings.simplefilter("ignore")
RESAMPLES = 2000


def interval(values, level=0.95, method="BCa", resamples=RESAMPLES):
    result = foostrap(
        values, statistic="quantile", boot_samples=resamples, conf_lvl=level, ci_method=method, random_state=1
    )
    return result.ci, result.boot_samples


def by_definition(values, medians, level=0.95):
    """Returns the BCa interval for these medians of resamples, with the acceleration from medians that leave out one value."""
    left_out = np.array([np.median(np.delete(values, at)) for at in range(len(values))])
    distances = left_out.mean() - left_out
    acceleration = (distances**3).sum() / (6 * (distances**2).sum() ** 1.5)
    median = np.median(values)
    bias = norm.ppf(np.mean(medians < median) + np.mean(medians == median) / 2)
    z = bias + norm.ppf([(1 - level) / 2, (1 + level) / 2])
    return np.quantile(medians, norm.cdf(bias + z / (1 - acceleration * z)))


generator = np.random.default_rng(1)
for number in [99, 100, 101, 102]:
    values = 100 + 20 * generator.random(number)
    found, medians = interval(values)
    right = by_definition(values, medians)
    is_range = tuple(found) == (medians.min(), medians.max())
    print(f"{number}: {found[0]:.1f} to {found[1]:.1f}, {right[0]:.1f} to {right[1]:.1f}, {is_range}")
values = values[:100]
same = {tuple(interval(values, level)[0]) for level in [0.5, 0.9, 0.99]}
print(f"different intervals for 50, 90 and 99 %: {len(same)}")
for number in [20, 21]:
    covers = 0
    for seed in range(300):
        low, high = interval(np.random.default_rng(seed).random(number))[0]
        covers += low <= 0.5 <= high
    print(f"{number}: covers {covers} of 300")
EOF
seen=$(venv/bin/python intervals.py)
echo "$seen"
expected='99: 108.4 to 112.6, 108.4 to 112.7, False
100: 107.3 to 112.9, 107.9 to 111.7, True
101: 106.3 to 111.4, 106.3 to 111.4, False
102: 106.0 to 112.5, 107.9 to 110.9, True
different intervals for 50, 90 and 99 %: 1
20: covers 298 of 300
21: covers 273 of 300'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
