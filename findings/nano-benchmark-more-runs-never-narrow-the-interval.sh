#!/usr/bin/env bash
# nano-benchmark 1.2.0, Node.js 20. Needs npm and the npm registry.
#
# `nano-bench`, `nano-bench-io` and `nano-bench-compare` show the median of a benchmark with a "confidence interval: 95% bootstrap
# percentile of the median". It is the interval that holds 95 % of the runs, not of the medians, so it does not become narrower
# with more runs: for times spread evenly from 90 to 110 ms it is 91.9 to 107.6 ms after 10 runs, and 90.5 to 109.5 after 1,000. The
# median is then known to 0.6 ms.
#
# - A bootstrap takes the 2.5 % and the 97.5 % quantile of the medians of the resamples. Here, the 2.5 % and the 97.5 % quantile of
#   each resample are computed, and then averaged. The documentation describes this, and calls it the interval of the median.
# - `--stable 5` is to run "until the median CI width is <= 5% of the median". If the runs vary by more than 5 %, it never is, and
#   all 1,000 runs are made (`--max-runs`). 70 are enough for an interval by order statistics.
# - The median of two or three runs is the smallest of them. The function for quantiles returns the first value for any place up to
#   the second one, instead of a place between them. From four values on, the median is right.
#
# The benchmark below goes by a simulated clock. The interval by order statistics is exact for any continuous distribution.
#
# Output seen (runs: median, its interval; the interval by order statistics. Then runs made by `--stable 5`, and how many are enough
# by order statistics; and medians of a few values):
#   10: 100.0, 91.9 107.6; 93.0 107.0
#   100: 100.0, 90.7 109.3; 97.9 102.1
#   1000: 100.0, 90.5 109.5; 99.4 100.6
#   --stable 5: 1000; 70
#   median of 10, 20: 10
#   median of 10, 20, 30: 10
#   median of 10, 20, 30, 40: 25
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work
echo '{"private": true, "dependencies": {"nano-benchmark": "1.2.0"}}' > package.json
npm install --silent --no-audit --no-fund
cat > bench.mjs <<'EOF'
import { performance } from "node:perf_hooks";

let clock = 0;
performance.now = () => clock;

// 617 and 1,000 have no common divisor, so a thousand calls take each time from 90 to 110 ms once.
let calls = 0;

export default {
  work() {
    clock += 90 + (20 * ((calls * 617) % 1000)) / 999;
    calls += 1;
  },
};
EOF
cat > intervals.mjs <<'EOF'
import { readFileSync } from "node:fs";
import { bootstrapSummary, exactSummary } from "nano-benchmark";
import { mulberry32 } from "nano-benchmark/utils/prng.js";

/** Returns the narrowest interval of two of the sorted values that holds the median in 95 % of cases. */
function orderStatistics(sorted) {
  const number = sorted.length;
  let [probability, tail] = [2 ** -number, 0];
  for (let k = 0; ; k += 1) {
    if (2 * (tail + probability) > 0.05) return [sorted[k - 1], sorted[number - k]];
    tail += probability;
    probability *= (number - k) / (k + 1);
  }
}

const show = (values) => values.map((value) => value.toFixed(1)).join(" ");

for (const number of [10, 100, 1000]) {
  const times = Array.from({ length: number }, (_, i) => 90 + (20 * (i + 0.5)) / number);
  const { median, lo, hi } = bootstrapSummary(times, { random: mulberry32(1) });
  console.log(`${number}: ${show([median])}, ${show([lo, hi])}; ${show(orderStatistics(times))}`);
}

const [{ samples }] = JSON.parse(readFileSync("stable.json")).results;
let enough = 10;
for (; ; enough += 10) {
  const [low, high] = orderStatistics(samples.slice(0, enough).sort((a, b) => a - b));
  if (high - low <= 5) break;
}
console.log(`--stable 5: ${samples.length}; ${enough}`);

for (const times of [[10, 20], [10, 20, 30], [10, 20, 30, 40]]) {
  console.log(`median of ${times.join(", ")}: ${exactSummary(times).median}`);
}
EOF
node_modules/.bin/nano-bench-io bench.mjs --stable 5 --warmup 0 --bootstrap 20 --seed 1 --json stable.json > table.txt
seen=$(node intervals.mjs)
echo "$seen"
expected='10: 100.0, 91.9 107.6; 93.0 107.0
100: 100.0, 90.7 109.3; 97.9 102.1
1000: 100.0, 90.5 109.5; 99.4 100.6
--stable 5: 1000; 70
median of 10, 20: 10
median of 10, 20, 30: 10
median of 10, 20, 30, 40: 25'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
