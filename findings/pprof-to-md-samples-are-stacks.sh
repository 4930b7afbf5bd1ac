#!/usr/bin/env bash
# pprof-to-md 0.2.0 with pprof-format 2.3.2, Node.js 20. Needs npm and the npm registry.
#
# pprof-to-md turns a profile in the format of pprof into Markdown: its duration, the number of samples, the share of each function
# and the "critical paths". A profile has one entry for each different stack, with the number of times that the stack was seen. The
# entries are counted as samples, and each path keeps the share of the function that it comes from:
#
# - A program that was sampled 1,000 times in 10 s has "3 samples" if it had three stacks, and "0 Hz". A function with 900 samples
#   has "1 samples", one with 40 of its own, below all three stacks, has "3 samples". Ten times the samples give the same text.
# - Three paths from `main` to leaves with 40, 35 and 25 % have 100, 35 and 25 %: the first has the share of `main`, which is left
#   out.
#
# Output seen (lines of the texts; the second profile is the first one with ten times the samples, the third one has three leaves):
#   **Duration:** 10.0s | **Samples:** 3 | **Sample Rate:** 0Hz
#   **Self-time:** 90.0% (1 samples)
#   **Self-time:** 4.0% (3 samples)
#   **Duration:** 10.0s | **Samples:** 3 | **Sample Rate:** 0Hz
#   **Self-time:** 90.0% (1 samples)
#   **Self-time:** 4.0% (3 samples)
#   1. **[100.0%]** `first`
#   2. **[35.0%]** `second`
#   3. **[25.0%]** `third`
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work
echo '{"private": true, "dependencies": {"pprof-to-md": "0.2.0", "pprof-format": "2.3.2"}}' > package.json
npm install --silent --no-audit --no-fund --ignore-scripts
cat > samples.mjs <<'EOF'
import { writeFileSync } from "node:fs";
import { Function, Line, Location, Profile, Sample, StringTable, ValueType } from "pprof-format";
import { convert } from "pprof-to-md";

/** Returns a profile of 10 s, given the stacks, the innermost function first, and how often each was seen. */
function profile(stacks) {
  const strings = new StringTable();
  const type = (type, unit) => new ValueType({ type: strings.dedup(type), unit: strings.dedup(unit) });
  const names = [...new Set(stacks.flatMap(([stack]) => stack))];
  const functions = names.map((name, at) => {
    const place = { filename: strings.dedup("app.js"), startLine: at + 1 };
    return new Function({ id: at + 1, name: strings.dedup(name), systemName: strings.dedup(name), ...place });
  });
  const locations = names.map((_, at) => new Location({ id: at + 1, line: [new Line({ functionId: at + 1, line: at + 1 })] }));
  const samples = stacks.map(
    ([stack, count]) => new Sample({ locationId: stack.map((name) => names.indexOf(name) + 1), value: [count, count * 1e7] }),
  );
  return new Profile({
    sampleType: [type("sample", "count"), type("wall", "nanoseconds")],
    sample: samples,
    location: locations,
    function: functions,
    stringTable: strings,
    timeNanos: 0,
    durationNanos: 10_000_000_000,
    periodType: type("wall", "nanoseconds"),
    period: 10_000_000,
  });
}

function show(stacks, format, wanted) {
  writeFileSync("profile.pb", profile(stacks).encode());
  const lines = convert("profile.pb", { format }).split("\n");
  lines.filter((line) => wanted.test(line)).forEach((line) => console.log(line.trim()));
}

for (const factor of [1, 10]) {
  const stacks = [[["parse", "main"], 900 * factor], [["render", "main"], 60 * factor], [["main"], 40 * factor]];
  show(stacks, "detailed", /^\*\*Duration/);
  show(stacks, "adaptive", /Self-time:\*\* (90|4)\./);
}
show([[["first", "main"], 400], [["second", "main"], 350], [["third", "main"], 250]], "summary", /^\d\. \*\*\[/);
EOF
seen=$(node samples.mjs)
echo "$seen"
expected='**Duration:** 10.0s | **Samples:** 3 | **Sample Rate:** 0Hz
**Self-time:** 90.0% (1 samples)
**Self-time:** 4.0% (3 samples)
**Duration:** 10.0s | **Samples:** 3 | **Sample Rate:** 0Hz
**Self-time:** 90.0% (1 samples)
**Self-time:** 4.0% (3 samples)
1. **[100.0%]** `first`
2. **[35.0%]** `second`
3. **[25.0%]** `third`'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
