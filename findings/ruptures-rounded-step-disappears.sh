#!/usr/bin/env bash
# ruptures 1.1.10, numpy 2.2.0, scipy 1.16.3, Python 3.11. Needs python3 with venv and the PyPI registry.
#
# ruptures detects changes of a series. Its cost "rbf" compares two values by exp(-γ d²), d being their distance, and γ is
# "determined according to median heuristics (i.e. equal to the inverse of median of all pairwise distances)". With that, the unit
# of the values cannot matter. If more than half of all pairs of values are equal, however, the median is 0, γ is set to 1, and
# everything depends on the unit. Besides, γ d² below 0.01 is taken for 0.01, even if the two values are equal. So there is no
# difference between equal values and those that differ by up to 0.1, be it seconds or hours.
#
# Many equal values are normal for times in hundredths of a second, for memory in megabytes and for counts without noise. If such
# a history has one step, more than half of its pairs are equal unless the step is near the middle: at 45 to 55 of 100 values.
#
# Below, a test takes 0.1 s, then 0.2 s, with a noise of 4 ms. The times are given as measured, rounded to 0.01 s, which removes
# all of the noise, and rounded and in milliseconds:
#
# - Rounded, the change is still found at 50 and 55. At 56, 75 and 90 it is not, although nothing but the noise is missing. A
#   penalty of 0.02 instead of 3 does not help.
# - As measured or in milliseconds, it is found everywhere.
#
# An attempt with a step in the middle succeeds. `Pelt` and the faster `KernelCPD` agree with each other.
#
# Output seen (values before the step: changes found in the times as measured, rounded to 0.01 s, rounded and in milliseconds):
#   Pelt 50: [50] [50] [50]
#   Pelt 55: [55] [55] [55]
#   Pelt 56: [56] [] [56]
#   Pelt 75: [75] [] [75]
#   Pelt 90: [90] [] [90]
#   KernelCPD 50: [50] [50] [50]
#   KernelCPD 55: [55] [55] [55]
#   KernelCPD 56: [56] [] [56]
#   KernelCPD 75: [75] [] [75]
#   KernelCPD 90: [90] [] [90]
#   rounded, step at 75, penalty 0.02: [] []
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check ruptures==1.1.10 numpy==2.2.0 scipy==1.16.3
cat > steps.py <<'EOF'
import numpy as np
import ruptures as rpt

# A new detector is made for each series.
DETECTORS = {
    "Pelt": lambda: rpt.Pelt(model="rbf", min_size=2, jump=1),
    "KernelCPD": lambda: rpt.KernelCPD(kernel="rbf", min_size=2),
}
noise = np.random.default_rng(1).uniform(-0.004, 0.004, 100)


def history(step):
    return np.where(np.arange(100) < step, 0.1, 0.2) + noise


def changes(detector, values, penalty):
    # The last element is the length of the series.
    return [int(i) for i in DETECTORS[detector]().fit(values.reshape(-1, 1)).predict(pen=penalty)[:-1]]


for detector in DETECTORS:
    for step in 50, 55, 56, 75, 90:
        seconds = history(step)
        rounded = seconds.round(2)
        print(f"{detector} {step}:", *(changes(detector, values, 3) for values in (seconds, rounded, rounded * 1000)))
rounded = history(75).round(2)
print("rounded, step at 75, penalty 0.02:", *(changes(detector, rounded, 0.02) for detector in DETECTORS))
EOF
seen=$(venv/bin/python steps.py)
echo "$seen"
expected='Pelt 50: [50] [50] [50]
Pelt 55: [55] [55] [55]
Pelt 56: [56] [] [56]
Pelt 75: [75] [] [75]
Pelt 90: [90] [] [90]
KernelCPD 50: [50] [50] [50]
KernelCPD 55: [55] [55] [55]
KernelCPD 56: [56] [] [56]
KernelCPD 75: [75] [] [75]
KernelCPD 90: [90] [] [90]
rounded, step at 75, penalty 0.02: [] []'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
