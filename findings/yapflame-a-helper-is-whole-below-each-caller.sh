#!/usr/bin/env bash
# yapflame 0.1.3 with yappi 1.7.6, Python 3.11. Needs python3 with venv and the PyPI registry.
#
# yapflame draws flame graphs of what yappi has measured, one for each thread. The width of a box is time, and the label of a thread
# tells its time. yappi knows for each caller how much time a function took for this caller. yapflame does not ask. Below each
# caller it puts the whole function, with all the time that it took for anybody:
#
# - `fast` and `slow` call one helper with 2 and 18 million rounds. Both boxes have the same width. `slow` took nine times as long.
# - Together they are twice as wide as the thread ran. With each layer of two functions that share what they call, the graph is
#   twice as wide again: three layers are drawn with eight times the time spent.
#
# The time spent is the sum of the times that the functions had themselves, each counted once, as yappi tells them.
#
# Output seen:
#   main: 2 times the time spent
#   slow is 1 times as wide as fast
#   third: 1 times the time spent
#   second: 2 times the time spent
#   first: 4 times the time spent
#   all_layers: 8 times the time spent
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME=$work
python3 -m venv venv
venv/bin/pip install --quiet --no-compile --disable-pip-version-check yapflame==0.1.3 yappi==1.7.6
cat > widths.py <<'EOF'
import yapflame


def work(rounds):
    for _ in range(rounds):
        pass


def helper(rounds):
    work(rounds)


def fast():
    helper(2_000_000)


def slow():
    helper(18_000_000)


def main():
    fast()
    slow()


def bottom():
    work(500_000)


def third():
    bottom()


def third_too():
    bottom()


def second():
    third()
    third_too()


def second_too():
    third()
    third_too()


def first():
    second()
    second_too()


def first_too():
    second()
    second_too()


def all_layers():
    first()
    first_too()


def total(node):
    return node["value"] + sum(total(child) for child in node["children"])


def nodes(node):
    yield node
    for child in node["children"]:
        yield from nodes(child)


def profile(function):
    """Returns the tree of a function's thread, and the sum of the times that its functions had themselves, in ms."""
    with yapflame.profile(clock="cpu") as result:
        function()
    tree = result.data["threads"][0]["data"]
    return tree, sum({node["f"]: node["value"] for node in nodes(tree) if "f" in node}.values())


for function in [main, third, second, first, all_layers]:
    tree, spent = profile(function)
    print(f"{function.__name__}: {total(tree) / spent:.0f} times the time spent")
    if function is main:
        widths = {node["name"].split()[0]: total(node) for node in nodes(tree)}
        print(f"slow is {widths['slow'] / widths['fast']:.0f} times as wide as fast")
EOF
seen=$(venv/bin/python widths.py)
echo "$seen"
expected='main: 2 times the time spent
slow is 1 times as wide as fast
third: 1 times the time spent
second: 2 times the time spent
first: 4 times the time spent
all_layers: 8 times the time spent'
if [[ $seen != "$expected" ]]; then
    echo "the behavior has changed; it was:" >&2
    echo "$expected" >&2
    exit 1
fi
