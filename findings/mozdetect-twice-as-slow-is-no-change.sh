#!/usr/bin/env bash
# mozdetect 0.2.0 with pandas 3.1.1, numpy 2.2.0, scipy 1.16.3, Python 3.11. Needs python3 with venv and the PyPI registry.
#
# mozdetect finds changes in the times that a browser reports: a histogram for each day, as a map from bins to numbers of calls.
# `cdf_squared` compares averages of seven days. For these, `get_multiday_average` adds up the days. It takes the bins of the
# first day, and for each later day adds the first number to the first bin, the second number to the second bin and so on,
# whatever bins these numbers are of. Maps need not list bins without calls, as in the tests of the project. So
#
# - if all calls become twice as slow, and thus have as many bins as before, nothing is found: all averages stay the same. If the
#   maps list all bins, those with 0 calls included, the change is found.
# - If the first day has one call that is faster than all others, the numbers of all later days go to the next lower bin. Three
#   changes are reported in 60 equal days, and the median of the averages is too low to the end.
# - If a day has fewer bins than the first one, the last bins become NaN, and stay so in all averages to come: after a day with
#   few calls, slow ones are never counted again.
#
# Each day below has 6,220 calls of 100 to 200 ms, in bins of 10 ms and without any noise. Only what is named differs from that.
#
# Output seen (changes by days of the history; median and 95 % quantile of the last day, and of the last average):
#   equal days: no change; 150 170, 150 170
#   twice as slow since day 30: no change; 300 340, 150 170
#   the same with empty bins: up at 29; 300 340, 300 340
#   one call of 5 ms on day 0: up at 9, down at 11, up at 14; 150 170, 140 160
#   100 calls on day 10: no change; 150 170, 140 140
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work MPLBACKEND=agg
python3 -m venv venv
# The package also asks for PyQt and pre-commit, which it does not import.
venv/bin/pip install --quiet --disable-pip-version-check --no-compile numpy==2.2.0 scipy==1.16.3 pandas==3.1.1 \
    matplotlib==3.11.2 prettytable==3.18.0 google-cloud-bigquery==3.47.0
venv/bin/pip install --quiet --disable-pip-version-check --no-compile --no-deps mozdetect==0.2.0
cat > days.py <<'EOF'
import json
from datetime import date, timedelta

import pandas
from mozdetect import TelemetryTimeSeries, get_timeseries_detectors

FIRST = date(2026, 1, 1)
CALLS = [10, 50, 200, 600, 1200, 2100, 1200, 600, 200, 50, 10]
FULL = {100 + 10 * i: calls for i, calls in enumerate(CALLS)}


def slower(day):
    return FULL if day < 30 else {2 * time: calls for time, calls in FULL.items()}


def listed(day):
    return {time: 0 for time in range(100, 401, 10)} | slower(day)


def fast_call(day):
    return {5: 1} | FULL if day == 0 else FULL


def few_calls(day):
    return {130: 10, 140: 20, 150: 40, 160: 20, 170: 10} if day == 10 else FULL


def show(name, histogram):
    rows = []
    for day in range(60):
        build = (FIRST + timedelta(days=day)).strftime("%Y%m%d00")
        rows.append({"build_id": build, "non_norm_histogram": json.dumps(histogram(day))})
    series = TelemetryTimeSeries(pandas.DataFrame(rows))
    detector = get_timeseries_detectors()["cdf_squared"](series)
    changes = [f"{change.direction} at {(change.location - FIRST).days}" for change in detector.detect_changes()]
    last = []
    for histograms in [series.cumulative_by_day_histograms, series.cumulative_multiday_histograms]:
        quantiles = series.get_percentiles_over_time(histograms).sort_values("date").iloc[-1]
        last.append(f"{quantiles['p50']} {quantiles['p95']}")
    print(f"{name}: {', '.join(changes) or 'no change'}; {', '.join(last)}")


show("equal days", lambda day: FULL)
show("twice as slow since day 30", slower)
show("the same with empty bins", listed)
show("one call of 5 ms on day 0", fast_call)
show("100 calls on day 10", few_calls)
EOF
venv/bin/python days.py > out 2> log || { cat log >&2; exit 1; }
seen=$(cat out)
echo "$seen"
expected='equal days: no change; 150 170, 150 170
twice as slow since day 30: no change; 300 340, 150 170
the same with empty bins: up at 29; 300 340, 300 340
one call of 5 ms on day 0: up at 9, down at 11, up at 14; 150 170, 140 160
100 calls on day 10: no change; 150 170, 140 140'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
