#!/bin/sh
# sh check.sh BUILD: installs a build into a folder of its own, then builds the examples against that, outside the
# tree, and runs them and the installed command.
set -eu
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/../.." && pwd)
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cmake --install "$build" --prefix "$folder/prefix" >"$folder/install.log"
cp -R "$source/examples" "$folder/examples"
cmake -S "$folder/examples" -B "$folder/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_PREFIX_PATH="$folder/prefix" >"$folder/configure.log" || { cat "$folder/configure.log"; exit 1; }
cmake --build "$folder/build" >"$folder/build.log" || { cat "$folder/build.log"; exit 1; }

"$folder/build/from_memory"

# An ending of one's own is a project of its own.
cmake -S "$folder/examples/ending" -B "$folder/ending" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_PREFIX_PATH="$folder/prefix" >"$folder/configure.log" || { cat "$folder/configure.log"; exit 1; }
cmake --build "$folder/ending" >"$folder/build.log" || { cat "$folder/build.log"; exit 1; }
"$folder/ending/clipped_layer"
"$folder/build/search_dictionary"
# The same on a GPU, where the build has code for one; without a GPU the program says so and exits with 4.
if grep -q '^set(envoi_CUDA ON)' "$folder"/prefix/lib*/cmake/envoi/envoiConfig.cmake; then
  nvcc=$(sed -n 's/^set(CMAKE_CUDA_COMPILER "\(.*\)")/\1/p' "$build"/CMakeFiles/*/CMakeCUDACompiler.cmake)
  cmake -S "$folder/examples/ending_gpu" -B "$folder/ending_gpu" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_CUDA_COMPILER="$nvcc" -DCMAKE_CUDA_FLAGS="-Werror=all-warnings -Xcompiler=-Wall,-Wextra,-Werror" \
    -DCMAKE_PREFIX_PATH="$folder/prefix" >"$folder/configure.log" || { cat "$folder/configure.log"; exit 1; }
  cmake --build "$folder/ending_gpu" >"$folder/build.log" || { cat "$folder/build.log"; exit 1; }
  "$folder/ending_gpu/clipped_layer_gpu" || [ $? -eq 4 ]
fi

# One spindle-like burst of 12 Hz at 2 s.
awk 'BEGIN { print "time,Cz"; for (n = 0; n < 1024; ++n) { t = n / 256; u = t - 2
  printf "%.8f,%.6f\n", t, 40 * exp(-u * u / 0.08) * cos(75.39822 * u) } }' >"$folder/burst.csv"
"$folder/build/analyze_file" "$folder/burst.csv" Cz "$folder/burst.json" | tee "$folder/atoms.txt"
awk 'NR == 1 && $1 > 1.99 && $1 < 2.01 && $3 > 11.9 && $3 < 12.1 { found = 1 } END { exit !found }' "$folder/atoms.txt"
grep -q '"envoi.decomposition"' "$folder/burst.json"

# The public headers stand alone: no third-party type in them.
for header in "$folder/prefix/include/envoi/"*.hpp; do
  echo "#include <envoi/$(basename "$header")>" >"$folder/one.cpp"
  "$compiler" -std=c++20 -fsyntax-only -Wall -Wextra -Werror -I "$folder/prefix/include" "$folder/one.cpp"
done

"$folder/prefix/bin/envoi" --version
"$folder/prefix/bin/envoi" analyze "$folder/burst.csv" --json >"$folder/command.json"
grep -q '"envoi.decomposition"' "$folder/command.json"
