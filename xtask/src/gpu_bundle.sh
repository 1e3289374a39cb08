#!/usr/bin/env bash
# Runs a bundle that `cargo xtask gpu-bundle` made, on a machine with a GPU and its driver.
#
#   run.sh tests [ARGS]            all tests; ARGS as `cargo test -- ARGS` (filters such as page:: or two_level::edges)
#   run.sh bench [ARGS]            the benchmarks: cargo xtask bench ARGS (without the CPU engine)
#   run.sh figures [ARGS]          the figures: cargo xtask figures ARGS (without the CPU engine)
#   run.sh sanitize TOOL [FILTER]  all tests on the GPU alone under compute-sanitizer (memcheck racecheck initcheck
#                                  synccheck), in JOBS processes (a core each), whose output is left in $OUT or sanitize
#   run.sh EXAMPLE [ARGS]          an example: voxels, shapes, find-image, groupby, join, kmers, renumber or wordcount
#
# The files kernels_sm75.ptx and kernels_sm90.ptx beside this one take the place of the PTX in the binaries.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() {
    sed -n 's/^#   //p' "${BASH_SOURCE[0]}" >&2
    exit 2
}

# Without this, tests pass silently over a GPU that they cannot use.
export WARPNEST_REQUIRE_CUDA=1
# There is no Git here: what the measurements record as their commit.
WARPNEST_COMMIT=$(sed -n 's/^commit: //p' "$here/manifest.txt")
export WARPNEST_COMMIT

# Runs every test binary behind the given command, all of them even if one fails.
each_test() {
    local failed=() name
    for test in "$here"/tests/*; do
        name=$(basename "$test")
        echo "== $name"
        "$@" || failed+=("$name")
    done
    if ((${#failed[@]})); then
        echo "FAILED: ${failed[*]}"
        return 1
    fi
    echo "all test binaries passed"
}

run_test() { "$test" "$@"; }

# Every JOBS-th test is one process's: a test under the tool leaves most of the machine idle.
sanitize_test() {
    local tool=$1 jobs=${JOBS:-$(nproc)} logs=${OUT:-$here/sanitize} process names failed=0
    shift
    mkdir -p "$logs"
    local running=()
    for ((process = 0; process < jobs; process++)); do
        mapfile -t names < <("$test" --list --format terse "$@" | sed -n 's/: test$//p' |
            awk -v jobs="$jobs" -v process="$process" 'NR % jobs == process')
        ((${#names[@]})) || continue
        # Some tests make the driver refuse something on purpose, and some binaries have no test that uses it.
        WARPNEST_ONLY_CUDA=1 WARPNEST_POOL=off compute-sanitizer --tool "$tool" --error-exitcode 1 --target-processes all \
            --report-api-errors no --require-cuda-init no "$test" --test-threads=1 --exact "${names[@]}" \
            >"$logs/$tool-$name-$process.txt" 2>&1 &
        running+=($!)
    done
    # None of the tests is picked, or the binary has none.
    ((${#running[@]})) || return 0
    for process in "${running[@]}"; do wait "$process" || failed=1; done
    grep -h -E '^test .*FAILED|^test result|ERROR SUMMARY|RACECHECK SUMMARY' "$logs/$tool-$name"-*.txt |
        sort | uniq -c
    return "$failed"
}

[ $# -ge 1 ] || usage
command=$1
shift
case $command in
    tests) each_test run_test "$@" ;;
    bench) exec "$here/warpnest-bench" bench "$@" ;;
    figures) exec "$here/warpnest-bench" figures "$@" ;;
    sanitize)
        [ $# -ge 1 ] || usage
        each_test sanitize_test "$@"
        ;;
    voxels | shapes | find-image | groupby | join | kmers | renumber | wordcount) exec "$here/$command" "$@" ;;
    *) usage ;;
esac
