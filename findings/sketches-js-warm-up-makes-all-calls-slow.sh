#!/usr/bin/env bash
# @datadog/sketches-js 2.1.1, Node.js 20. Needs npm and the npm registry.
#
# `LogCollapsingHighestDenseDDSketch` summarizes a stream of values and gives its quantiles with a given relative accuracy. If they
# do not fit into 2,048 bins (`binLimit`), the highest bins become one, and the lower ones stay accurate. With an accuracy of 0.1 %,
# 2,048 bins reach from the lowest value to 60 times as much. If the first call of a program takes 1 s, and the 1,000 calls after
# it become faster from 2 to 1 ms, all quantiles are 60 ms, longer than any call but the first.
#
# - A value that is so low that all values so far are out of range joins them in the highest bin, but their key stays the lowest
#   one. The next value is below it again, and joins all others, too. In the end only the last call has its own bin.
# - Once a value was too high for the range (below, a call of 1 s after 400 others), `_getIndex` returns the highest bin for a value
#   below all others. The sketch that joins the lowest bins returns its lowest bin in this place, and is right. Here, it had to be
#   for a value above all others. So each call that is faster than all before it counts as slow, and the median is 96 ms.
# - The range is two bins too long (plus one instead of minus one). A value above it gets a bin beyond the end of the array:
#   adding 1 to what is not there gives NaN, and the array grows beyond its limit.
#
# In random order, new lowest values are rare and all is well, so tests with random numbers pass. Number, minimum, maximum and sum
# are always right. The sketch without a limit, `DDSketch`, gives the correct quantiles.
#
# Output seen (calls: quantiles of 1, 50 and 99 % in ms, number of bins; the same without a limit):
#   random times: 1.01 1.50 1.99, 384; 1.01 1.50 1.99, 384
#   random times, slow call first: 1.01 1.50 1.99, 2049; 1.01 1.50 1.99, 3456
#   falling times, slow call first: 59.92 59.92 59.92, 2048; 1.01 1.50 1.99, 3456
#   falling times, slow call after 400: 1.61 96.45 96.45, 3219; 1.01 1.50 1.99, 3456
#   rising times, slow call first: 119.94 119.94 119.94, 2048; 1.01 1.50 1.99, 3456
#   rising times, slow call after 400: 1.01 1.50 1.99, 3455; 1.01 1.50 1.99, 3456
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work
echo '{"private": true, "dependencies": {"@datadog/sketches-js": "2.1.1"}}' > package.json
npm install --silent --no-audit --no-fund
cat > calls.js <<'EOF'
const { DDSketch, LogCollapsingHighestDenseDDSketch } = require("@datadog/sketches-js");

function show(sketch, times) {
    times.forEach((time) => sketch.accept(time));
    const quantiles = [0.01, 0.5, 0.99].map((q) => sketch.getValueAtQuantile(q).toFixed(2));
    return `${quantiles.join(" ")}, ${sketch.store.length()}`;
}

const rising = Array.from({ length: 1000 }, (_, i) => 1 + i / 1000);
const falling = rising.toReversed();
// 617 and 1,000 have no common divisor, so each time occurs once.
const random = rising.map((_, i) => rising[(i * 617) % 1000]);
for (const [name, times, place] of [
    ["random", random],
    ["random", random, 0],
    ["falling", falling, 0],
    ["falling", falling, 400],
    ["rising", rising, 0],
    ["rising", rising, 400],
]) {
    const calls = place === undefined ? times : times.toSpliced(place, 0, 1000);
    const slow = { 0: ", slow call first", 400: ", slow call after 400" }[place] ?? "";
    const relativeAccuracy = 0.001;
    const limited = show(new LogCollapsingHighestDenseDDSketch({ relativeAccuracy }), calls);
    console.log(`${name} times${slow}: ${limited}; ${show(new DDSketch({ relativeAccuracy }), calls)}`);
}
EOF
seen=$(node calls.js)
echo "$seen"
expected='random times: 1.01 1.50 1.99, 384; 1.01 1.50 1.99, 384
random times, slow call first: 1.01 1.50 1.99, 2049; 1.01 1.50 1.99, 3456
falling times, slow call first: 59.92 59.92 59.92, 2048; 1.01 1.50 1.99, 3456
falling times, slow call after 400: 1.61 96.45 96.45, 3219; 1.01 1.50 1.99, 3456
rising times, slow call first: 119.94 119.94 119.94, 2048; 1.01 1.50 1.99, 3456
rising times, slow call after 400: 1.01 1.50 1.99, 3455; 1.01 1.50 1.99, 3456'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
