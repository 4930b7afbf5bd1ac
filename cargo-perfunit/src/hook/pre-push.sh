#!/bin/sh
# Compares the speed of the tests between what the remote has and what is pushed to it.
# Push once without it: `PERFUNIT_SKIP=1 git push` or `git push --no-verify`. Remove it: `cargo perfunit hook uninstall`.

# What git tells, for both hooks. The dot keeps the last newline.
refs=$(cat && echo .)
refs=${refs%.}

before=$(dirname "$0")/pre-push.before-perfunit
if [ -x "$before" ]; then
    printf %s "$refs" | "$before" "$@" || exit
fi

if [ "${PERFUNIT_SKIP:-0}" != 0 ]; then
    echo "perfunit: skipped, because PERFUNIT_SKIP is set" >&2
    exit 0
fi
# Programs with windows often start git with a shorter PATH than a terminal has.
PATH=$PATH:${CARGO_HOME:-${HOME:-}/.cargo}/bin
if ! command -v cargo > /dev/null || ! command -v cargo-perfunit > /dev/null; then
    echo "perfunit: not installed here, so this push is not checked; install it: cargo install --locked --git https://github.com/cargo-perfunit/cargo-perfunit cargo-perfunit" >&2
    exit 0
fi

printf %s "$refs" | cargo perfunit hook run @OPTIONS@ "$@" @DIFF@
code=$?
case $code in
    0 | 100 | 104 | 105 | 106 | 130) exit $code ;;
esac
failure=@FAILURE@ stopped=
[ "$failure" = 0 ] || stopped=" and is blocked (--strict)"
echo "perfunit: failed with exit code $code, so this push was not checked$stopped" >&2
exit "$failure"
