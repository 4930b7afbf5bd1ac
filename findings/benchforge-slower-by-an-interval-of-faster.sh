#!/usr/bin/env bash
# benchforge 0.2.5, Node.js 20. Needs npm and the npm registry.
#
# benchforge runs a benchmark and its baseline in batches and reports a change with a confidence interval and a verdict. The two
# need not agree: below, a change of the mean is "+10.0 %", its interval is "-28.3 % to -2.9 %", and the verdict is "slower".
# For the median it is +65.0 % with the same interval. The verdict gives the color in the table and in the viewer.
#
# - The change compares statistics of all calls of both sides. The interval is one of other figures: the statistic of each
#   batch, averaged over random choices of batches. For a median or another percentile, the average of the batches is not that
#   of all calls. For the mean it is only if all batches have as many calls.
# - By default a batch has a duration (0.642 s), so that a slow one has fewer calls. Then the interval gives a
#   call of a fast batch less weight than one of a slow batch.
# - It is "faster" or "slower" if the interval is all below or all above zero. Which of the two is taken from the change of all
#   calls, and not from the side the interval is on.
#
# So it takes batches that differ, as if some processes were slow from their start on. If each batch has fast and slow calls in
# the same proportion, everything agrees.
#
# Below are 40 batches of 0.6 s, or of 40 calls, a side. The new program takes the same time for each call. The old one has fast
# calls of 10 ms, and slow batches or slow calls. A seeded generator makes the random choices repeatable.
#
# Output seen (statistic: value of the old program, its interval in ms; change in percent, its interval, verdict):
#   batches of 0.6 s, each second one with calls of 30 ms; new 16.5 ms
#     mean: 15ms, 17.0 to 23.0; 10.0, -28.3 to -2.9, slower
#     p50: 10ms, 17.0 to 23.0; 65.0, -28.3 to -2.9, slower
#     p99: 30ms, 17.0 to 23.0; -45.0, -28.3 to -2.9, faster
#   batches of 40 calls, two of five with calls of 20 ms; new 12 ms
#     mean: 14ms, 12.5 to 15.5; -14.3, -22.6 to -4.0, faster
#     p50: 10ms, 12.5 to 15.5; 20.0, -22.6 to -4.0, slower
#     p99: 20ms, 12.5 to 15.5; -40.0, -22.6 to -4.0, faster
#   batches of 0.6 s, each fourth call takes 30 ms; new 16.5 ms
#     mean: 15ms, 15.0 to 15.0; 10.0, 10.0 to 10.0, slower
#     p50: 10ms, 10.0 to 10.0; 65.0, 65.0 to 65.0, slower
#     p99: 30ms, 30.0 to 30.0; -45.0, -45.0 to -45.0, faster
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work
echo '{"private": true, "type": "module", "dependencies": {"benchforge": "0.2.5"}}' > package.json
npm install --silent --no-audit --no-fund
cat > changes.js <<'EOF'
import { prepareHtmlData, timeSection } from "benchforge";

let state = 1;
Math.random = () => (state = (state * 48271) % 2147483647) / 2147483647;

/** Returns what 40 batches measured, of which `batch` gives the times in ms. */
function measured(name, batch) {
  const samples = [];
  const batchOffsets = [];
  for (let index = 0; index < 40; index += 1) {
    batchOffsets.push(samples.length);
    samples.push(...batch(index));
  }
  return { name, measuredResults: { name, samples, batchOffsets, time: {} } };
}

const calls = (number, time) => Array(number).fill(time);
const interval = ([low, high]) => `${low.toFixed(1)} to ${high.toFixed(1)}`;

function show(title, old, now) {
  console.log(title);
  const group = { name: "call", reports: [measured("new", now)], baseline: measured("old", old) };
  const data = prepareHtmlData([group], { sections: [timeSection], equivMargin: 2 });
  for (const { label, entries, comparisonCI } of data.groups[0].benchmarks[0].sections[0].rows) {
    const { percent, ci, direction } = comparisonCI;
    const [, { value, bootstrapCI }] = entries;
    const change = `${percent.toFixed(1)}, ${interval(ci)}, ${direction}`;
    console.log(`  ${label}: ${value}, ${interval(bootstrapCI.ci)}; ${change}`);
  }
}

show(
  "batches of 0.6 s, each second one with calls of 30 ms; new 16.5 ms",
  (index) => (index % 2 ? calls(20, 30) : calls(60, 10)),
  () => calls(36, 16.5),
);
show(
  "batches of 40 calls, two of five with calls of 20 ms; new 12 ms",
  (index) => calls(40, index % 5 < 2 ? 20 : 10),
  () => calls(40, 12),
);
show(
  "batches of 0.6 s, each fourth call takes 30 ms; new 16.5 ms",
  () => [...calls(30, 10), ...calls(10, 30)],
  () => calls(36, 16.5),
);
EOF
seen=$(node changes.js)
echo "$seen"
expected='batches of 0.6 s, each second one with calls of 30 ms; new 16.5 ms
  mean: 15ms, 17.0 to 23.0; 10.0, -28.3 to -2.9, slower
  p50: 10ms, 17.0 to 23.0; 65.0, -28.3 to -2.9, slower
  p99: 30ms, 17.0 to 23.0; -45.0, -28.3 to -2.9, faster
batches of 40 calls, two of five with calls of 20 ms; new 12 ms
  mean: 14ms, 12.5 to 15.5; -14.3, -22.6 to -4.0, faster
  p50: 10ms, 12.5 to 15.5; 20.0, -22.6 to -4.0, slower
  p99: 20ms, 12.5 to 15.5; -40.0, -22.6 to -4.0, faster
batches of 0.6 s, each fourth call takes 30 ms; new 16.5 ms
  mean: 15ms, 15.0 to 15.0; 10.0, 10.0 to 10.0, slower
  p50: 10ms, 10.0 to 10.0; 65.0, 65.0 to 65.0, slower
  p99: 30ms, 30.0 to 30.0; -45.0, -45.0 to -45.0, faster'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
