#!/bin/sh
# Fails with exit code 100 if a test got slower since BASE. The tests are divided among @SHARDS@ jobs:
#   ci/perfunit.sh measure SHARD [BASE]  measures a share (1 to @SHARDS@) and leaves it in the folder `perfunit-shards`
#   ci/perfunit.sh merge                 joins all shares in that folder, and decides
# Without BASE it is the default branch of the remote. Keep @TARGET@/perfunit and ~/.cache/cargo-perfunit between runs.
# Written by `cargo perfunit ci init generic --shards @SHARDS@`; edit it as you like.
set -eu
cd "$(dirname "$0")/.."
version=@VERSION@
@INSTALL@

case ${1:-} in
    measure)
        shard=$2
        base=${3:-${PERFUNIT_BASE:-origin/HEAD}}
        rm -rf @TARGET@/perfunit/runs
        code=0
        # Of each test, both versions are measured by the same machine, taking turns on one core: figures of two machines,
        # or of one machine at two times, differ by more than most changes.
        cargo perfunit diff "$base" --head HEAD --partition "slice:$shard/@SHARDS@" @OPTIONS@ || code=$?
        mkdir -p perfunit-shards
        if [ -d @TARGET@/perfunit/runs ]; then cp -r @TARGET@/perfunit/runs "perfunit-shards/$shard"; fi
        # Whether a test is slower is decided by all shares together.
        if [ "$code" -ne 100 ]; then exit "$code"; fi
        ;;
    merge)
        exec cargo perfunit merge perfunit-shards @MANIFEST@
        ;;
    *)
        echo "usage: ci/perfunit.sh measure SHARD [BASE] | merge" >&2
        exit 2
        ;;
esac
