#!/usr/bin/env bash
# measured-core 2.0.0, Node.js 20. Needs npm and the npm registry.
#
# A `Histogram` keeps a sample of 1,028 values, chosen at random so that newer ones are preferred, and gives its percentiles.
# `weightedPercentiles`, the other choice for the option `percentilesMethod`, also gives newer values more weight: half as much
# again as those of 27 seconds before. For values of the same time, both should be the same. In fact, the weighted median is almost any
# value, and differs from one histogram to the next with the same values.
#
# - The sample decides by a priority which values to keep: the weight divided by a random number from 0 to 1. Only this is stored,
#   and `weightedPercentiles` takes it as the weight.
# - The reciprocal of such a number has no finite mean. Of a thousand values, one has a sixth of all weight in every second
#   histogram, and more than a half in every tenth: then it is the median itself. More values do not help, since the sample
#   keeps those with the highest priorities.
#
# Below, a thousand times from 100 to 200 ms are added at once to each of 200 histograms that differ by the random numbers only.
#
# Output seen (lowest and highest percentile of 200 histograms in ms):
#   median: 149.9 to 149.9, weighted 104.3 to 199.7
#   99 %: 199.0 to 199.0, weighted 156.3 to 199.9
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work
echo '{"private": true, "dependencies": {"measured-core": "2.0.0"}}' > package.json
npm install --silent --no-audit --no-fund
cat > measure.js <<'EOF'
// All values are added at the same time.
Date.now = () => 1e12;
const { ExponentiallyDecayingSample, Histogram } = require("measured-core");

let state = 1n;
function random() {
    state = BigInt.asUintN(64, state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n);
    return (Number(state >> 12n) + 0.5) / 2 ** 52;
}

const shares = [0.5, 0.99];
const plain = [];
const weighted = [];
for (let i = 0; i < 200; i++) {
    const histogram = new Histogram({ sample: new ExponentiallyDecayingSample({ random }) });
    for (let j = 0; j < 1000; j++) {
        histogram.update(100 + ((j * 617) % 1000) / 10);
    }
    const { median, p99 } = histogram.toJSON();
    plain.push({ 0.5: median, 0.99: p99 });
    weighted.push(histogram.weightedPercentiles(shares));
}
function range(results, share) {
    const values = results.map((result) => result[share]);
    return `${Math.min(...values).toFixed(1)} to ${Math.max(...values).toFixed(1)}`;
}
console.log(`median: ${range(plain, 0.5)}, weighted ${range(weighted, 0.5)}`);
console.log(`99 %: ${range(plain, 0.99)}, weighted ${range(weighted, 0.99)}`);
EOF
seen=$(node measure.js)
echo "$seen"
expected='median: 149.9 to 149.9, weighted 104.3 to 199.7
99 %: 199.0 to 199.0, weighted 156.3 to 199.9'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
