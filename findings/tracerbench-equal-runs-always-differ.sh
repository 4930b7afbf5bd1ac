#!/usr/bin/env bash
# @tracerbench/stats 8.0.1, Node.js 20. Needs npm and the npm registry.
#
# The package has the statistics of TracerBench. `getWilcoxonRankSumTest` is a "two-tailed test alpha 0.05" for up to 25 times a
# side, and returns whether two samples differ. For 3 to 24 times a side it says so for any two samples, even equal ones. For 25 it
# never does, not even if all times have doubled.
#
# - It computes U, which is at most half of the number of pairs, 50 for 10 times a side, and compares it with a table that has 96
#   in this place. That is the limit for the sum of ranks of 11 times, which is larger than U by 66. Any U is below it.
# - For 25 times a side, the table has no entry, and no number is less than `undefined`.
#
# `getWilcoxonSignedRankTest`, the one for pairs, takes the smaller sum of the ranks of positive and negative differences. It
# counts differences of 0 as positive. Two equal samples have no negative ones, so the smaller sum is 0, and they differ.
#
# A third surprise is in `Stats`, which computes in microseconds and converts all results by a function that is given to it. It
# converts the variance by the same function as the times. In milliseconds, it is a thousand times too large.
#
# The random times below are from 100 to 110 ms for both sides, from a generator with a fixed start. The exact p-values are
# counted over all orders.
#
# Output seen (times a side: verdict of the rank sum for equal times, and for doubled ones; how many of 1,000 pairs of random
# samples differ by the rank sum, and by an exact test; verdict of the signed ranks for equal times. Then the variance of the example
# of the package if it is given in ms, and if it is converted from microseconds):
#   3: true true; 1000, exact 0; false
#   5: true true; 1000, exact 38; false
#   10: true true; 1000, exact 38; true
#   20: true true; 1000, exact 57; true
#   24: true true; 1000, exact 52; true
#   25: false false; 0, exact 43; true
#   variance: 178706.01; 178706010
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work
echo '{"private": true, "dependencies": {"@tracerbench/stats": "8.0.1"}}' > package.json
npm install --silent --no-audit --no-fund
cat > ranks.js <<'EOF'
const {
  Stats,
  convertMSToMicroseconds,
  convertMicrosecondsToMS,
  getWilcoxonRankSumTest: rankSum,
  getWilcoxonSignedRankTest: signedRank,
} = require("@tracerbench/stats");

/** Returns how many orders of two samples of this size have 0, 1, 2... pairs in which the second is smaller. */
function orders(size) {
  let ways = Array.from({ length: size + 1 }, () => [1]);
  for (let j = 1; j <= size; j += 1) {
    const next = [[1]];
    for (let i = 1; i <= size; i += 1) {
      next.push([]);
      for (let u = 0; u <= i * j; u += 1) next[i][u] = (next[i - 1][u - j] ?? 0) + (ways[i][u] ?? 0);
    }
    ways = next;
  }
  return ways[size];
}

/** Returns the exact two-sided p-value of a test for samples without ties. */
function exact(control, experiment, ways) {
  const pairs = control.length * experiment.length;
  const smaller = control.flatMap((a) => experiment.filter((b) => b < a)).length;
  const sum = (counts) => counts.reduce((total, count) => total + count, 0);
  return Math.min(1, (2 * sum(ways.slice(0, Math.min(smaller, pairs - smaller) + 1))) / sum(ways));
}

let seed = 1;

function random() {
  seed = (seed * 16807) % 2147483647;
  return seed / 2147483647;
}

const times = (size) => Array.from({ length: size }, () => 100 + 10 * random());

for (const size of [3, 5, 10, 20, 24, 25]) {
  const equal = times(size);
  const slower = equal.map((time) => 2 * time);
  const ways = orders(size);
  let [ranks, right] = [0, 0];
  for (let i = 0; i < 1000; i += 1) {
    const [control, experiment] = [times(size), times(size)];
    ranks += rankSum([...control], [...experiment]);
    right += exact(control, experiment, ways) < 0.05;
  }
  console.log(
    `${size}: ${rankSum([...equal], [...equal])} ${rankSum([...equal], slower)}; ${ranks}, exact ${right};`,
    `${signedRank(equal, [...equal])}`,
  );
}

// The times of the package's own example
const control = [1063, 2112, 1154, 988, 1066, 2111, 1097, 1062, 1033, 1017];
const experiment = [1063, 1092, 1088, 1030, 1089, 1047, 959, 1103, 1453, 1034];
const plain = { name: "example", confidenceLevel: 0.95, control: [...control], experiment: [...experiment] };
const { populationVariance: inMs } = new Stats(plain);
const { populationVariance: converted } = new Stats(
  {
    ...plain,
    control: control.map(convertMSToMicroseconds),
    experiment: experiment.map(convertMSToMicroseconds),
  },
  convertMicrosecondsToMS,
);
console.log(`variance: ${inMs.control}; ${converted.control}`);
EOF
seen=$(node ranks.js)
echo "$seen"
expected='3: true true; 1000, exact 0; false
5: true true; 1000, exact 38; false
10: true true; 1000, exact 38; true
20: true true; 1000, exact 57; true
24: true true; 1000, exact 52; true
25: false false; 0, exact 43; true
variance: 178706.01; 178706010'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
