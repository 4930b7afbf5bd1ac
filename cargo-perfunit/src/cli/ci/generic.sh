#!/bin/sh
# Fails with exit code 100 if a test got slower since BASE: ci/perfunit.sh [BASE]
# Without BASE it is the default branch of the remote. Keep @TARGET@/perfunit and ~/.cache/cargo-perfunit between runs.
# Written by `cargo perfunit ci init generic`; edit it as you like.
set -eu
cd "$(dirname "$0")/.."
version=@VERSION@
base=${1:-${PERFUNIT_BASE:-origin/HEAD}}
@INSTALL@

# Both versions are built and measured here, taking turns on one core: figures of two machines, or of one machine at two
# times, differ by more than most changes.
exec cargo perfunit diff "$base" --head HEAD @OPTIONS@
