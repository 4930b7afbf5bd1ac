#!/usr/bin/env bash
# @callstack/reassure-compare 1.6.0 (the comparison of reassure), Node.js 20. Needs npm and the npm registry.
#
# reassure measures components in ten runs, compares them with a baseline, and lists changes of the mean that are "statistically
# significant": the limit in the source is p < 2 %, and a change of 5 %. The test divides the difference by the standard deviation
# of the baseline, and that by the root of the number of runs of the new version. How noisy the new version is, and how many runs
# the baseline has, is not asked. The mean of the baseline counts as if it were known exactly:
#
# - With ten runs a side and a noise of 10 %, 103 of 1,000 benchmarks that do not change are significant. With the standard error
#   of the difference, to which both sides contribute, the same limits give 21.
# - For a noisy machine, the documentation suggests more runs. If only the new version gets 100 runs, and the noise is 20 %, 412
#   are significant. If only the baseline gets them, 37 are.
# - Exchanging old and new can change the verdict. Runs of 60 to 150 ms with a mean of 106 ms are significantly slower than runs of
#   98 to 102 ms. The latter are not significantly faster than the former.
#
# The noise below is normal, from a generator with a fixed start.
#
# Output seen (noise, runs of the baseline and of the new version: how many of 1,000 benchmarks that do not change are significant,
# and how many are if the noise of both sides counts. Then the means of two series of ten runs, and the verdict):
#   10 %, 10 10: 103; 21
#   20 %, 10 10: 128; 26
#   20 %, 10 100: 412; 35
#   20 %, 100 10: 37; 43
#   20 %, 2 10: 463; 128
#   100 106: significant
#   106 100: not significant
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work
echo '{"private": true, "dependencies": {"@callstack/reassure-compare": "1.6.0"}}' > package.json
npm install --silent --no-audit --no-fund
cat > verdicts.mjs <<'EOF'
import { readFileSync, writeFileSync } from "node:fs";
import { compare } from "@callstack/reassure-compare";

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

function deviation(values) {
  const center = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - center) ** 2, 0) / (values.length - 1));
}

function write(path, all) {
  const entries = all.map((durations, i) => ({
    name: `benchmark ${i}`,
    type: "function",
    runs: durations.length,
    meanDuration: mean(durations),
    stdevDuration: deviation(durations),
    durations,
    meanCount: 1,
    stdevCount: 0,
    counts: durations.map(() => 1),
  }));
  writeFileSync(path, entries.map((entry) => JSON.stringify(entry)).join("\n"));
}

/** Returns how many of these benchmarks are significantly different. */
async function significant(baseline, current) {
  write("baseline.perf", baseline);
  write("current.perf", current);
  const files = { baselineFile: "baseline.perf", currentFile: "current.perf", outputFile: "output.json" };
  const log = console.log;
  console.log = () => {};
  await compare({ ...files, outputFormat: "json" });
  console.log = log;
  return JSON.parse(readFileSync("output.json")).significant.length;
}

/** Returns how many are if the noise of both sides counts, with the same limits. */
function bothSides(baseline, current) {
  return baseline.filter((old, i) => {
    const difference = Math.abs(mean(current[i]) - mean(old));
    const error = Math.hypot(...[old, current[i]].map((side) => deviation(side) / Math.sqrt(side.length)));
    return difference / error > 2.326348 && difference / mean(old) >= 0.05;
  }).length;
}

let seed = 1;

function random() {
  seed = (seed * 16807) % 2147483647;
  return seed / 2147483647;
}

function times(noise, runs) {
  return Array.from({ length: runs }, () => {
    const normal = Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());
    return 100 + noise * normal;
  });
}

for (const [noise, old, current] of [[10, 10, 10], [20, 10, 10], [20, 10, 100], [20, 100, 10], [20, 2, 10]]) {
  const sides = [old, current].map((runs) => Array.from({ length: 1000 }, () => times(noise, runs)));
  console.log(`${noise} %, ${old} ${current}: ${await significant(...sides)}; ${bothSides(...sides)}`);
}

const even = [98, 99, 100, 101, 102, 98, 99, 100, 101, 102];
const wild = [70, 140, 80, 130, 90, 150, 60, 110, 120, 110];
for (const [old, current] of [[even, wild], [wild, even]]) {
  const verdict = (await significant([old], [current])) ? "significant" : "not significant";
  console.log(`${mean(old)} ${mean(current)}: ${verdict}`);
}
EOF
seen=$(node verdicts.mjs)
echo "$seen"
expected='10 %, 10 10: 103; 21
20 %, 10 10: 128; 26
20 %, 10 100: 412; 35
20 %, 100 10: 37; 43
20 %, 2 10: 463; 128
100 106: significant
106 100: not significant'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
