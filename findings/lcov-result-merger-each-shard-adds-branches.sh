#!/usr/bin/env bash
# lcov-result-merger 6.0.0 with coverage 7.17.5 (coverage.py), Node.js 20, Python 3.11. Needs npm, python3 with venv, and the npm
# and PyPI registries.
#
# lcov-result-merger adds up the reports of several test suites "for the same application". Reports of lines and functions of
# Python are added. The branches of each report are added as further branches, so that a file has twice as many after two
# suites and three times as many after three. The more suites, the lower the share of branches that are covered:
#
# - lcov writes a branch as `BRDA:<line>,<block>,<branch>,<count>`. For coverage.py, <branch> is a text, "jump to line 3", which
#   lcov 2 allows. The merger takes it for a number and gets NaN. It looks for a branch with the same three numbers before it adds
#   one, and NaN is not equal to NaN.
# - The merged report has NaN for each branch, so that nothing that reads it can tell the branches of a line apart, or mend it.
# - There is no message. Line and function coverage are right, and so are the branches of JavaScript, which have numbers.
#
# Below, a function has four branches. Three suites call it for 5, 50 and 500 ms. Together they cover all of it, as `coverage
# combine` finds: 4 of 4. After the merge it is 5 of 12. A fourth suite that only repeats the first one makes it 6 of 16. If the
# texts are replaced by numbers, the same merge gives 4 of 4.
#
# Output seen (report: lines covered, branches covered; branches of the first line that has some, with their counts):
#   suite 5: 3/6, 1/4; jump to line 3=1 jump to line 4=0
#   suite 50: 4/6, 2/4; jump to line 3=0 jump to line 4=1
#   suite 500: 4/6, 2/4; jump to line 3=0 jump to line 4=1
#   combined by coverage: 6/6, 4/4; jump to line 3=1 jump to line 4=1
#   merged: 6/6, 5/12; NaN=1 NaN=0 NaN=0 NaN=1 NaN=0 NaN=1
#   merged, suite 5 twice: 6/6, 6/16; NaN=1 NaN=0 NaN=0 NaN=1 NaN=0 NaN=1 NaN=1 NaN=0
#   merged, branches numbered: 6/6, 4/4; 3=1 4=2
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check coverage==7.17.5
echo '{"private": true, "dependencies": {"lcov-result-merger": "6.0.0"}}' > package.json
npm install --silent --no-audit --no-fund
cat > calls.py <<'EOF'
def kind(time):
    if time < 10:
        return "fast"
    if time < 100:
        return "usual"
    return "slow"
EOF
cat > suite.py <<'EOF'
import sys

from calls import kind

kind(float(sys.argv[1]))
EOF
for time in 5 50 500; do
    export COVERAGE_FILE=$work/.coverage.$time
    venv/bin/coverage run --branch --include=calls.py suite.py "$time"
    venv/bin/coverage lcov --quiet -o "suite-$time.lcov"
    # The same report with the line of the jump as the number of the branch
    sed 's/jump to line //' "suite-$time.lcov" > "numbered-$time.lcov"
done
export COVERAGE_FILE=$work/.coverage
venv/bin/coverage combine --quiet
venv/bin/coverage lcov --quiet -o combined.lcov
merger=node_modules/.bin/lcov-result-merger
"$merger" 'suite-*.lcov' merged.lcov
"$merger" 'numbered-*.lcov' merged-numbered.lcov
mkdir twice
cp suite-*.lcov twice
cp suite-5.lcov twice/suite-again.lcov
"$merger" 'twice/*.lcov' merged-twice.lcov

show() {
    local lines branches first
    lines=$(sed -n 's/^LH://p' "$2")/$(sed -n 's/^LF://p' "$2")
    branches=$(sed -n 's/^BRH://p' "$2")/$(sed -n 's/^BRF://p' "$2")
    first=$(sed -n 's/^BRDA:2,0,\(.*\),\([^,]*\)$/\1=\2/p' "$2" | paste --serial --delimiters=' ')
    echo "$1: $lines, $branches; $first"
}
seen=$(
    for time in 5 50 500; do
        show "suite $time" "suite-$time.lcov"
    done
    show "combined by coverage" combined.lcov
    show "merged" merged.lcov
    show "merged, suite 5 twice" merged-twice.lcov
    show "merged, branches numbered" merged-numbered.lcov
)
echo "$seen"
expected='suite 5: 3/6, 1/4; jump to line 3=1 jump to line 4=0
suite 50: 4/6, 2/4; jump to line 3=0 jump to line 4=1
suite 500: 4/6, 2/4; jump to line 3=0 jump to line 4=1
combined by coverage: 6/6, 4/4; jump to line 3=1 jump to line 4=1
merged: 6/6, 5/12; NaN=1 NaN=0 NaN=0 NaN=1 NaN=0 NaN=1
merged, suite 5 twice: 6/6, 6/16; NaN=1 NaN=0 NaN=0 NaN=1 NaN=0 NaN=1 NaN=1 NaN=0
merged, branches numbered: 6/6, 4/4; 3=1 4=2'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
