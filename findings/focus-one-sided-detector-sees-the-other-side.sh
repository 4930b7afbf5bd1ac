#!/usr/bin/env bash
# changepoint-online 1.2.1, numpy 2.2.0, scipy 1.16.3, Python 3.11. Needs python3 with venv and the PyPI registry.
#
# `Focus` detects changes of a stream of values while they arrive. The package is by authors of the method. The level before the
# change can be given, for instance the time of a benchmark at the last release, and `side` "constrains the detector to look for
# changes in one specific direction, i.e. increase or decrease". If the level is given, a detector of increases also reports
# decreases, and the other way round. In that case it puts the change before the first value.
#
# - The detector keeps the possible places of a change, each with the mean of the values since then. For increases it removes a
#   place if this mean is not above that of the place before it. The first place, before all values, has none before it and stays.
# - Without a level, the first place is what the others are compared with, and its score is 0. With a level, its score is the
#   squared distance between the mean of all values and the level, whatever the sign. It should be 0 for a mean on the wrong side.
#
# So a detector for a benchmark that becomes slower is silent at first if it becomes faster, and then reports it. The longer the
# calm time before was, the later the alarm is. Short tests pass. Without a level, the same detector never reports it.
#
# Below, a benchmark of 100 ms with a noise of 1 ms changes to 103 or 97 ms after 50, 500 or 5,000 values, and 500 values follow.
# An alarm is a score of at least 10. "By definition" is the best score of all places, with those on the wrong side set to 0.
#
# Output seen (values before the change, change, change looked for; number of values at the alarm and place of the change, for the
# detector with the level, without it, and by definition with the level; "-" if there is no alarm):
#   50 slower, only slower: 52 50; 52 50; 52 50
#   50 slower, only faster: 60 0; -; -
#   50 faster, only slower: 64 0; -; -
#   50 faster, only faster: 54 49; 54 49; 54 49
#   500 slower, only slower: 503 500; 503 500; 503 500
#   500 slower, only faster: 525 0; -; -
#   500 faster, only slower: 542 0; -; -
#   500 faster, only faster: 502 500; 502 500; 502 500
#   5000 slower, only slower: 5003 5000; 5003 5000; 5003 5000
#   5000 slower, only faster: 5104 0; -; -
#   5000 faster, only slower: 5109 0; -; -
#   5000 faster, only faster: 5002 5000; 5002 5000; 5002 5000
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check changepoint-online==1.2.1 numpy==2.2.0 scipy==1.16.3
cat > seen.py <<'EOF'
import random

import numpy
from changepoint_online import Focus, Gaussian

LEVEL = 100
THRESHOLD = 10


def alarm(detector, history):
    for time in history:
        detector.update(time)
        if detector.statistic() >= THRESHOLD:
            found = detector.changepoint()
            return f"{found['stopping_time']} {found['changepoint']}"
    return "-"


def alarm_by_definition(sign, history):
    sums = numpy.cumsum([0.0] + [sign * (time - LEVEL) for time in history])
    for end in range(1, len(sums)):
        scores = numpy.maximum(sums[end] - sums[:end], 0) ** 2 / numpy.arange(end, 0, -1) / 2
        if scores.max() >= THRESHOLD:
            return f"{end} {scores.argmax()}"
    return "-"


for calm in [50, 500, 5000]:
    for change, step in [("slower", 3), ("faster", -3)]:
        noise = random.Random(1)
        history = [noise.gauss(LEVEL, 1) for _ in range(calm)]
        history += [noise.gauss(LEVEL + step, 1) for _ in range(500)]
        for only, side, sign in [("slower", "right", 1), ("faster", "left", -1)]:
            given = alarm(Focus(Gaussian(loc=LEVEL), side=side), history)
            unknown = alarm(Focus(Gaussian(), side=side), history)
            print(f"{calm} {change}, only {only}: {given}; {unknown}; {alarm_by_definition(sign, history)}")
EOF
seen=$(venv/bin/python seen.py)
echo "$seen"
expected='50 slower, only slower: 52 50; 52 50; 52 50
50 slower, only faster: 60 0; -; -
50 faster, only slower: 64 0; -; -
50 faster, only faster: 54 49; 54 49; 54 49
500 slower, only slower: 503 500; 503 500; 503 500
500 slower, only faster: 525 0; -; -
500 faster, only slower: 542 0; -; -
500 faster, only faster: 502 500; 502 500; 502 500
5000 slower, only slower: 5003 5000; 5003 5000; 5003 5000
5000 slower, only faster: 5104 0; -; -
5000 faster, only slower: 5109 0; -; -
5000 faster, only faster: 5002 5000; 5002 5000; 5002 5000'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
