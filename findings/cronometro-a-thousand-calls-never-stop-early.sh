#!/usr/bin/env bash
# cronometro 4.0.3, Node.js 20. Needs npm and the npm registry.
#
# A test of cronometro has a number of `iterations`. By its documentation, it stops before that number if the standard error is
# below `errorThreshold` (1 % by default) and at least 10 % of the iterations have been run. With 1,100 iterations, a function
# that always takes the same time stops after 110 calls. With 1,000 iterations it makes 999 calls, so fewer iterations take nine
# times as long. No multiple of 100 up to 1,000 stops before the last call but one.
#
# - The error is looked at every 5 %. The share of the calls made is rounded down to hundredths of a percent, and that has to be
#   a multiple of 500.
# - The share is not that of 1,000 calls but of 999, since the number given to the worker is one less. Call 100 is then 10.01 %,
#   call 150 is 15.01 %, and so on: all marks are missed, up to 100 % at call 999.
# - With 1,001 iterations, the divisor is 1,000 and the marks are hit. With 1,100, call 110 is 10.009 %, rounded down to 10 %.
#   The default of 10,000 misses none.
#
# Below, each call takes 1 µs by a simulated clock, so that the standard error is 0 from the first call on.
#
# Output seen (iterations: calls measured, standard error in ns):
#   100: 99, 0
#   101: 10, 0
#   500: 499, 0
#   501: 50, 0
#   1000: 999, 0
#   1001: 100, 0
#   1100: 110, 0
#   10000: 1000, 0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work
echo '{"private": true, "type": "module", "dependencies": {"cronometro": "4.0.3"}}' > package.json
npm install --silent --no-audit --no-fund
cat > calls.js <<'EOF'
import { isMainThread } from "node:worker_threads";
import cronometro from "cronometro";

// This file is run again in the thread of each test.
let clock = 0n;
process.hrtime.bigint = () => clock;

const tests = {
  steady() {
    clock += 1000n;
  },
};

if (isMainThread) {
  for (const iterations of [100, 101, 500, 501, 1000, 1001, 1100, 10000]) {
    const { steady } = await cronometro(tests, { iterations, print: false });
    console.log(`${iterations}: ${steady.size}, ${steady.standardError}`);
  }
} else {
  cronometro(tests);
}
EOF
seen=$(node calls.js)
echo "$seen"
expected='100: 99, 0
101: 10, 0
500: 499, 0
501: 50, 0
1000: 999, 0
1001: 100, 0
1100: 110, 0
10000: 1000, 0'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
