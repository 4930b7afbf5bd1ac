#!/usr/bin/env bash
# opentelemetry-sdk 1.45.2 with opentelemetry-api 1.45.2, Python 3.11. Needs python3 with venv and the PyPI registry.
#
# An exponential histogram adapts its buckets to the values: at scale s, each is 2^(1 / 2^s) times as wide as the one before. Times
# of 100 to 200 ms have scale 7, so that a quantile is known to 0.5 %. If all that is recorded between two collections are zeros,
# the buckets of all values, before and after, have a width of a factor of two from then on (scale 0), up to the end of the
# process. A single value of 0 is enough:
#
# - Zeros have a counter of their own and no bucket, so the scale of an interval of zeros does not matter for itself; the SDK
#   writes 0. A cumulative histogram, the default, then adds the interval to what it has. For that, both get the lower scale of
#   the two, and buckets that were joined stay so.
# - The largest scale would change nothing. It is what the specification wants for a histogram without values in its buckets.
# - With another value in the same interval, before or after the zero, nothing is lost. So it depends on the times of the
#   collections, and a test that collects once does not see it. Histograms with delta temporality forget it with the interval.
#
# Below are 100 calls in each of three intervals, evenly from 100 to 199 ms, and a cached call that takes 0 ms. The last figures
# of each line are all the histogram knows of the quantiles.
#
# Output seen (scale and number of values at the end; bucket of the median; bucket of the 90 % quantile):
#   no zero: 7 300; 149.0 to 149.8; 188.0 to 189.0
#   zero with other calls: 7 301; 149.0 to 149.8; 188.0 to 189.0
#   zero alone before all: 0 301; 128.0 to 256.0; 128.0 to 256.0
#   zero alone after the first 100: 0 301; 128.0 to 256.0; 128.0 to 256.0
#   zero alone after the first 100, delta: 7 100; 149.0 to 149.8; 188.0 to 189.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check opentelemetry-sdk==1.45.2 opentelemetry-api==1.45.2
cat > record.py <<'EOF'
from opentelemetry.sdk.metrics import Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View


def collect(intervals, temporality):
    """Records the values of all intervals, collects after each of them and returns the last data point."""
    reader = InMemoryMetricReader(preferred_temporality={Histogram: temporality})
    view = View(instrument_name="*", aggregation=ExponentialBucketHistogramAggregation())
    histogram = MeterProvider([reader], views=[view]).get_meter("calls").create_histogram("time")
    for values in intervals:
        for value in values:
            histogram.record(value)
        data = reader.get_metrics_data()
    return data.resource_metrics[0].scope_metrics[0].metrics[0].data.data_points[0]


def bucket(point, quantile):
    """Returns the bounds of the bucket that holds a quantile."""
    rank = quantile * point.count - point.zero_count
    base = 2 ** 2**-point.scale
    for index, count in enumerate(point.positive.bucket_counts, point.positive.offset):
        rank -= count
        if rank <= 0:
            return f"{base**index:.1f} to {base ** (index + 1):.1f}"


calls = list(range(100, 200))
cumulative, delta = AggregationTemporality.CUMULATIVE, AggregationTemporality.DELTA
for name, intervals, temporality in [
    ("no zero", [calls, calls, calls], cumulative),
    ("zero with other calls", [calls, [0, *calls], calls], cumulative),
    ("zero alone before all", [[0], calls, calls, calls], cumulative),
    ("zero alone after the first 100", [calls, [0], calls, calls], cumulative),
    ("zero alone after the first 100, delta", [calls, [0], calls, calls], delta),
]:
    point = collect(intervals, temporality)
    print(f"{name}: {point.scale} {point.count}; {bucket(point, 0.5)}; {bucket(point, 0.9)}")
EOF
seen=$(venv/bin/python record.py)
echo "$seen"
expected='no zero: 7 300; 149.0 to 149.8; 188.0 to 189.0
zero with other calls: 7 301; 149.0 to 149.8; 188.0 to 189.0
zero alone before all: 0 301; 128.0 to 256.0; 128.0 to 256.0
zero alone after the first 100: 0 301; 128.0 to 256.0; 128.0 to 256.0
zero alone after the first 100, delta: 7 100; 149.0 to 149.8; 188.0 to 189.0'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
