#!/usr/bin/env bash
# tatami-ng 0.8.18, Node.js 20. Needs npm and the npm registry.
#
# tatami-ng runs benchmarks and prints the mean time of each with its margin of error, that of a 95 % interval. Its summary
# compares the baseline with the other ones, also with a margin: "1.50 ± 2.00 % times faster than". The ratio of two means is
# less certain than either of them. In the summary, it is more certain than the worse one, and often by far:
#
# - The standard deviation of a ratio of single calls is divided by the root of the number of samples of both benchmarks
#   together. Each of the two means has only the samples of its own.
# - With 128 samples a side, the margin is too small by the root of two. In theory, 83 % of the intervals hold the true ratio
#   instead of 95 %.
# - By default a benchmark runs for a second and at least 128 times. One of 10 µs has 100,000 samples, one of 10 ms has 128, and
#   100,128 are counted for the ratio. The slow mean is known to 5 %, and so is the ratio. It is shown with a margin of 0.25 %,
#   and nearly all such intervals miss the true ratio.
#
# Measuring the fast side longer makes any ratio as certain as one likes. The margins of the single benchmarks are right, and the
# correct margin of the ratio is almost the root of the sum of their squares.
#
# Below, the time of a call varies evenly from a half to one and a half of its mean. Times are those of a simulated clock, given
# by the library's option `now`. The mean times are known, so is their ratio.
#
# Output seen (mean times; samples of the first of 100 pairs, margins of both in the table, margin in the summary, root of the
# sum of squares; how many of 100 intervals miss the true ratio, by the summary and by the root):
#   10 ms, 10 ms: 128 128, 4.97 5.15, 5.04, 7.16; 15 3
#   1 ms, 10 ms: 1018 128, 1.80 4.62, 2.29, 4.96; 42 7
#   10 µs, 10 ms: 100009 128, 0.18 4.98, 0.25, 4.98; 95 8
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work
echo '{"private": true, "type": "module", "dependencies": {"tatami-ng": "0.8.18"}}' > package.json
npm install --silent --no-audit --no-fund
cat > pairs.js <<'EOF'
const printed = [];
// The library takes the function when it is loaded.
console.log = (text) => printed.push(text);
const { baseline, bench, run } = await import("tatami-ng");

let clock = 0;
let state = 1;

/** Returns a benchmark of the given mean time in nanoseconds. */
function call(mean) {
  return () => {
    state = (state * 48271) % 2147483647;
    clock += mean * (0.5 + state / 2147483647);
  };
}

async function compare(first, second) {
  printed.length = 0;
  baseline("first", call(first));
  bench("second", call(second));
  const report = await run({ now: () => clock, warmup: false, colors: false });
  const byName = (name) => report.benchmarks.find((benchmark) => benchmark.name === name).stats;
  const stats = [byName("first"), byName("second")];
  const table = ["first", "second"].map((name) => {
    const line = printed.find((text) => text.startsWith(`${name} `));
    return Number(/ ± ([0-9.]+) %/.exec(line)[1]);
  });
  const summary = Number(/ ± ([0-9.]+) % times (?:faster|slower) than second/.exec(printed.at(-1))[1]);
  const ratio = stats[1].latency.avg / stats[0].latency.avg;
  return { samples: stats.map((one) => one.samples), table, summary, root: Math.hypot(...table), ratio };
}

for (const [name, first, second] of [
  ["10 ms, 10 ms", 1e7, 1e7],
  ["1 ms, 10 ms", 1e6, 1e7],
  ["10 µs, 10 ms", 1e4, 1e7],
]) {
  const missed = { summary: 0, root: 0 };
  let shown;
  for (let pair = 0; pair < 100; pair++) {
    const seen = await compare(first, second);
    shown ??= seen;
    const percent = 100 * Math.abs((seen.ratio * first) / second - 1);
    for (const margin of ["summary", "root"]) missed[margin] += percent > seen[margin];
  }
  const [low, high] = shown.table.map((margin) => margin.toFixed(2));
  const margins = `${low} ${high}, ${shown.summary.toFixed(2)}, ${shown.root.toFixed(2)}`;
  process.stdout.write(`${name}: ${shown.samples.join(" ")}, ${margins}; ${missed.summary} ${missed.root}\n`);
}
EOF
seen=$(node pairs.js)
echo "$seen"
expected='10 ms, 10 ms: 128 128, 4.97 5.15, 5.04, 7.16; 15 3
1 ms, 10 ms: 1018 128, 1.80 4.62, 2.29, 4.96; 42 7
10 µs, 10 ms: 100009 128, 0.18 4.98, 0.25, 4.98; 95 8'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
