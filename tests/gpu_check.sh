# shellcheck shell=sh disable=SC2034,SC2154
# `./dev gpu-check`, read by dev and not run by itself: tests, sanitizers and speed of the GPU code, on a machine that has
# a GPU and perhaps little else.

gpu_seconds=${ENVOI_GPU_SECONDS:-540} # for all of it; what does not fit any more is stopped

# Seconds for a program: at most so many, and no more than are left.
allowed() {
  left=$((gpu_deadline - $(date +%s)))
  if [ "$left" -gt "$1" ]; then left=$1; fi
  if [ "$left" -lt 1 ]; then left=1; fi
  echo "$left"
}
limited() { # SECONDS PROGRAM [ARGUMENT...]
  seconds=$(allowed "$1")
  shift
  status=0
  timeout -k 5 "$seconds" "$@" || status=$?
  if [ "$status" = 124 ] || [ "$status" = 137 ]; then echo "$1: stopped after $seconds s"; fi
  return "$status"
}

find_cuda_program() { # NAME: where nvcc is, or in the path
  for program in "$(command -v "$1" 2>/dev/null)" "${CUDACXX:+$(dirname "$CUDACXX")/$1}" \
    "${CUDA_PATH:+$CUDA_PATH/bin/$1}" "/usr/local/cuda/bin/$1"; do
    if [ -n "$program" ] && [ -x "$program" ]; then
      echo "$program"
      return 0
    fi
  done
  return 1
}

gpu_facts() { # FIELD of nvidia-smi, a line for each GPU
  nvidia-smi --query-gpu="$1" --format=csv,noheader 2>/dev/null
}
have_gpu() {
  if have nvidia-smi; then [ -n "$(gpu_facts name)" ]; else ls /dev/nvidia[0-9]* >/dev/null 2>&1; fi
}

gpu_build() {
  set --
  if [ -n "${ENVOI_DEPS:-}" ]; then set -- "-DCMAKE_PREFIX_PATH=$ENVOI_DEPS" "-DCMAKE_BUILD_RPATH=$ENVOI_DEPS/lib"; fi
  configure gpu "$@"
  limited 300 cmake --build build/gpu -j "$jobs" --target test_cuda envoi_bench_cuda ladder >"$results/ninja.log" 2>&1 || {
    grep -v '^\[[0-9]*/[0-9]*\] Building' "$results/ninja.log" | tail -60
    return 1
  }
  tail -1 "$results/ninja.log"
}

# Shards at the same time: most of a test's time is the CPU's, which computes what is right.
gpu_test() {
  shards=4
  for shard in $(seq 0 $((shards - 1))); do
    (
      status=0
      GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard limited 240 build/gpu/tests/test_cuda || status=$?
      echo "shard $shard ended with status $status"
    ) >"$results/test-$shard.log" 2>&1 &
  done
  wait
  wrong=0
  for shard in $(seq 0 $((shards - 1))); do
    log=$results/test-$shard.log
    sed -n '/^\[ RUN  /h; /^\[ RUN  /!H; /^\[  FAILED  \] .* ms)$/{g;p;}' "$log" | head -100
    bad=$(grep -c '^\[  FAILED  \] .* ms)$' "$log" || true)
    if [ "$bad" = 0 ] && ! grep -q 'ended with status 0$' "$log"; then
      tail -20 "$log"
      bad=1
    fi
    wrong=$((wrong + bad))
  done
  cat "$results"/test-?.log | sed -n 's/^\[  SKIPPED \] \(.*\) (.* ms)$/(not run: \1)/p'
  ran=$(cat "$results"/test-?.log | grep -c '^\[       OK \]\|^\[  FAILED  \] .* ms)$' || true)
  echo "test_cuda: $wrong tests failed out of $ran"
  [ "$ran" -gt 0 ] && [ "$wrong" = 0 ]
}

# Small shapes in all endings. The tools slow a test down a hundred times, racecheck the most, so it has fewer.
gpu_sanitize() {
  sanitizer=$(find_cuda_program compute-sanitizer) || skip "compute-sanitizer is not here"
  for tool in memcheck synccheck racecheck; do
    (
      filter='Small*'
      if [ $tool = racecheck ]; then filter=${ENVOI_RACECHECK:-Small*bf16*}; fi
      echo "$tool of $filter"
      status=0
      limited 150 "$sanitizer" --tool $tool --error-exitcode 9 --print-limit 10 build/gpu/tests/test_cuda \
        "--gtest_filter=$filter" || status=$?
      echo "$tool ended with status $status"
    ) >"$results/$tool.log" 2>&1 &
  done
  wait
  wrong=0
  for tool in memcheck synccheck racecheck; do
    head -1 "$results/$tool.log"
    grep '^\[==========\] [0-9]* test.* ran\|^=========.*SUMMARY\|stopped after' "$results/$tool.log" || true
    if ! grep -q 'ended with status 0$' "$results/$tool.log" || ! grep -q '^\[       OK \]' "$results/$tool.log"; then
      grep '^=========\|FAILED' "$results/$tool.log" | head -40
      wrong=$((wrong + 1))
    fi
  done
  [ "$wrong" = 0 ]
}

gpu_bench() { limited 150 build/gpu/bench/envoi_bench_cuda --json "$results/bench.jsonl"; }

gpu_torch() {
  if ! have python3; then skip "python3 is not here"; fi
  limited 120 python3 bench/cuda/torch_mlp.py --json "$results/torch.jsonl"
  [ -s "$results/torch.jsonl" ] || skip "python3 has no torch that sees the GPU"
}

gpu_ladder() { limited 90 build/gpu/bench/ladder/ladder --json "$results/ladder.jsonl"; }

gpu_machine() {
  gpu=$(gpu_facts name | sort | uniq -c | sed 's/^ *1 //; s/^ *//' | paste -s -d ',' -)
  processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -1)
  echo "commit: $ENVOI_COMMIT"
  echo "machine: ${gpu:-a GPU that nvidia-smi does not tell}; ${processor:-$(uname -m)}, $jobs processors"
  echo "driver: $(gpu_facts driver_version | head -1)"
  echo "CUDA: $("$nvcc" --version | sed -n 's/^Cuda compilation tools, //p')"
  echo "command: ./dev gpu-check$1"
  echo "date: $(date -u +%Y-%m-%d)"
}

gpu_check() { # [FOLDER] [--only STEP,...]
  every=build,test,sanitize,bench,torch,ladder
  only=$every
  results=build/gpu/results
  words=
  while [ $# -gt 0 ]; do
    words="$words $1"
    case $1 in
      --only)
        if [ $# = 1 ]; then
          say "gpu-check: --only what? Some of $every"
          exit 2
        fi
        only=$2
        words="$words $2"
        shift
        ;;
      -*)
        say "gpu-check: unknown option $1"
        exit 2
        ;;
      *) results=$1 ;;
    esac
    shift
  done
  for name in $(echo "$only" | tr , ' '); do
    case ,$every, in
      *,"$name",*) ;;
      *)
        say "gpu-check: no step is named '$name'; there are $every"
        exit 2
        ;;
    esac
  done
  if ! nvcc=$(find_cuda_program nvcc); then
    say "gpu-check: there is no nvcc (tried PATH, CUDACXX, CUDA_PATH, /usr/local/cuda): install the CUDA toolkit, 12.8 or later"
    exit 4
  fi
  if ! have_gpu; then
    say "gpu-check: there is no NVIDIA GPU here, or its driver does not work"
    exit 4
  fi
  gpu_deadline=$(($(date +%s) + gpu_seconds))
  if [ -n "${ENVOI_DEPS:-}" ]; then
    ENVOI_DEPS=$(cd "$ENVOI_DEPS" && pwd)
    CMAKE_PREFIX_PATH=$ENVOI_DEPS${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}
    export CMAKE_PREFIX_PATH
  fi
  have "${CXX:-c++}" || have g++ || have clang++ || missing="$missing g++"
  want_command cmake cmake
  want_command ninja ninja-build
  want_header hwy/highway.h libhwy-dev
  want_header gtest/gtest.h libgtest-dev
  lacking=$missing
  if ! (install_missing); then
    say "gpu-check: needs$lacking; Highway and GoogleTest may lie in a folder that ENVOI_DEPS names (include/, lib/)"
    exit 1
  fi

  ENVOI_COMMIT=${ENVOI_COMMIT:-$(git describe --always --dirty 2>/dev/null || echo unknown)}
  export ENVOI_COMMIT
  mkdir -p "$results"
  logs=$results
  for name in $(echo "$every" | tr , ' '); do
    rm -f "$results/$name.log" "$results/$name.jsonl"
    case ,$only, in *,"$name",*) step "$name" "gpu_$name" ;; esac
  done

  {
    gpu_machine "$words"
    for name in $(echo "$every" | tr , ' '); do
      if [ -s "$results/$name.log" ]; then
        printf '\n== %s\n' "$name"
        cat "$results/$name.log"
      fi
    done
    printf '\n%s%s passed, %s failed, %s skipped\n' "$summary" "$passed" "$failed" "$skipped"
  } >"$results/gpu-check.txt"
  : >"$results/gpu-check.jsonl"
  for name in bench torch ladder; do
    if [ -s "$results/$name.jsonl" ]; then cat "$results/$name.jsonl" >>"$results/gpu-check.jsonl"; fi
  done
  rm -f "$results"/*.status
  if [ "$only" = "$every" ]; then # a part is no table to keep
    chip=$(gpu_facts name | head -1 | sed 's/^NVIDIA //' | tr 'A-Z ' 'a-z-')
    kept=bench/results/${chip:-gpu}-$ENVOI_COMMIT
    for kind in txt jsonl; do cp "$results/gpu-check.$kind" "$kept.$kind"; done
    say "$kept.txt, $kept.jsonl"
  fi
  say ""
  say "$summary"
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" = 0 ]
}
