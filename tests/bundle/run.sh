#!/bin/sh
# Runs what `./dev bundle` packed, on this machine: every test, the SIMD tests for each instruction set of the processor,
# then the benches. What they say goes to results/, and a sum of it to standard output.
#   ./run.sh                   all of it
#   ./run.sh tests             the tests alone
#   ./run.sh bench [NAME...]   the benches alone, or some: search, search/grid, quality/crb, ...
# Exit status 1 if a test failed or a bench did not reach what it has to.
set -u
cd "$(dirname "$0")" || exit 1
mkdir -p results
ENVOI_COMMIT=$(cat commit)
export ENVOI_COMMIT
what=${1:-all}
if [ $# -gt 0 ]; then shift; fi
case $what in
  all | tests | bench) ;;
  *)
    sed -n 's/^# \{0,1\}//p' run.sh | sed 1d >&2
    exit 2
    ;;
esac
failures=0

{
  uname -srm
  (lscpu || cat /proc/cpuinfo) 2>/dev/null
  grep MemTotal /proc/meminfo
  ldd --version 2>/dev/null | head -1
  echo "commit $ENVOI_COMMIT"
  bin/isas
} >results/machine.txt 2>&1
echo "commit $ENVOI_COMMIT; instruction sets of this build: $(bin/isas | tr '\n' ' ')"

run_tests() { # NAME PROGRAM [ARGUMENT...]: one line on standard output, the rest in a file
  name=$1
  shift
  started=$(date +%s)
  "$@" >"results/$name.log" 2>&1
  status=$?
  passed=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "results/$name.log")
  skipped=$(sed -n 's/^\[  SKIPPED \] \([0-9]*\) test.*/\1/p' "results/$name.log")
  if [ $status = 0 ]; then word=ok; else word="FAILED ($status)"; fi
  echo "$name: $word, ${passed:-0} passed, ${skipped:-0} skipped, $(($(date +%s) - started)) s"
  if [ $status != 0 ]; then
    failures=$((failures + 1))
    tail -20 "results/$name.log" | sed 's/^/    /'
  fi
}

if [ "$what" != bench ]; then
  for test in bin/test_*; do run_tests "$(basename "$test")" "$test"; done
  for isa in $(bin/isas | sed -n 's/ here$//p'); do
    while read -r test filter; do
      ENVOI_ISA=$isa run_tests "$test.$isa" "bin/$test" "--gtest_filter=$filter"
    done <isa_tests
  done
fi

if [ "$what" != tests ]; then
  bin/envoi_bench --json results/bench.jsonl "$@" 2>results/bench.err | tee results/bench.txt
  if [ "$(wc -l <results/bench.jsonl)" = 0 ] || grep -q '"met": "NO"' results/bench.jsonl; then
    echo "benches: no rows, or rows below what they have to reach (results/bench.jsonl, results/bench.err)"
    failures=$((failures + 1))
  fi
fi
echo "$failures failures"
[ $failures = 0 ]
