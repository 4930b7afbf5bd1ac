#!/usr/bin/env bash
# autorank 1.3.0, numpy 2.4.6, pandas 3.1.1, scipy 1.17.1, Python 3.11. Needs python3 with venv and the PyPI registry.
#
# `autorank` takes a table with a row for each benchmark and a column for each program, chooses a test and writes a report. For two
# columns without a normal distribution, it is "Wilcoxon's signed rank test", which looks at the differences of the pairs. In fact
# the test is one-sided, and its side is that of the column with the larger median. But the medians of the columns say little
# about the differences: they depend on the one benchmark in the middle.
#
# - A change makes 20 of 21 benchmarks faster by 10 %. If the middle one stays as it was, the medians are equal, and the first
#   column counts as the larger one. The p-value is 0.00004 for the columns old, new and 0.99996 for new, old.
# - If the middle benchmark is 10 % slower instead, the p-value is 0.99998 in any order. The report finds "no statistically
#   significant difference". The same result has a mean rank of 1.05 for new and 1.95 for old.
# - A side that is chosen after a look at the data is right more often than by chance. For eight benchmarks that differ by 10 %
#   in any direction, there are 256 combinations of directions. 18 of them are significant at 5 %, which are 7.0 %.
#
# The two-sided test of scipy gives 0.0001 or less for all histories below, and finds 10 of the 256 significant. If all
# benchmarks change in the same direction, the medians do so, too, so that a simple attempt succeeds.
#
# Below, each benchmark takes twice as long as the one before.
#
# Output seen (middle benchmark: p-value for the columns old, new and for new, old; two-sided p-value; verdict of the report for
# old, new and for new, old; mean ranks of old and new. Then the number of combinations that are significant):
#   faster: 0.00000 0.00000; 0.00000; different different; 2.00 1.00
#   unchanged: 0.00004 0.99996; 0.00009; different no difference; 1.98 1.02
#   slower: 0.99998 0.99998; 0.00005; no difference no difference; 1.95 1.05
#   significant of 256: 18, two-sided 10
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work MPLBACKEND=agg
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check autorank==1.3.0 numpy==2.4.6 pandas==3.1.1 scipy==1.17.1 \
    statsmodels==0.15.0 matplotlib==3.11.2 baycomp==1.0.3
cat > ranks.py <<'EOF'
import io
from contextlib import redirect_stdout
from itertools import product

from autorank import autorank, create_report
from pandas import DataFrame
from scipy.stats import wilcoxon


def compare(columns):
    """Returns autorank's result and its report as a text, both without what it prints besides."""
    with redirect_stdout(io.StringIO()):
        result = autorank(DataFrame(columns), order="ascending")
    report = io.StringIO()
    with redirect_stdout(report):
        create_report(result)
    assert result.omnibus == "wilcoxon"
    return result, report.getvalue()


def verdict(report):
    different = "is significantly larger" in report
    assert different != ("there is no statistically significant difference" in report)
    return "different" if different else "no difference"


old = [2.0**i for i in range(21)]
for middle, factor in [("faster", 0.9), ("unchanged", 1), ("slower", 1.1)]:
    new = [0.9 * time for time in old]
    new[10] = factor * old[10]
    first, first_report = compare({"old": old, "new": new})
    second, second_report = compare({"new": new, "old": old})
    two_sided = wilcoxon(old, new).pvalue
    ranks = first.rankdf["meanrank"]
    print(
        f"{middle}: {first.pvalue:.5f} {second.pvalue:.5f}; {two_sided:.5f};",
        f"{verdict(first_report)} {verdict(second_report)}; {ranks['old']:.2f} {ranks['new']:.2f}",
    )

old = old[:8]
significant = two_sided = 0
for signs in product([-1, 1], repeat=8):
    new = [time * (1 + sign / 10) for time, sign in zip(old, signs)]
    significant += compare({"old": old, "new": new})[0].pvalue < 0.05
    two_sided += wilcoxon(old, new).pvalue < 0.05
print(f"significant of 256: {significant}, two-sided {two_sided}")
EOF
seen=$(venv/bin/python ranks.py)
echo "$seen"
expected='faster: 0.00000 0.00000; 0.00000; different different; 2.00 1.00
unchanged: 0.00004 0.99996; 0.00009; different no difference; 1.98 1.02
slower: 0.99998 0.99998; 0.00005; no difference no difference; 1.95 1.05
significant of 256: 18, two-sided 10'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
