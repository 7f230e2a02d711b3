# Writes OUT, a C++ file that holds the report's page, built from SOURCE/web in WORK by Node; without Node a stub. Runs at
# every build and does nothing where nothing has changed.
file(GLOB inputs ${SOURCE}/web/src/* ${SOURCE}/web/*.json ${SOURCE}/web/*.js ${SOURCE}/web/index.html)
list(SORT inputs)
set(hashes "")
foreach(input ${inputs})
  file(SHA256 ${input} hash)
  string(APPEND hashes "${input} ${hash}\n")
endforeach()

set(before "")
if(EXISTS ${WORK}/built.txt AND EXISTS ${OUT})
  file(READ ${WORK}/built.txt before)
endif()
if(before STREQUAL hashes)
  return()
endif()

function(write_if_other path text)
  set(there "")
  if(EXISTS ${path})
    file(READ ${path} there)
  endif()
  if(NOT text STREQUAL there)
    file(WRITE ${path} "${text}")
  endif()
endfunction()

# Commands that read the page find it empty, and say what `reason` is.
function(write_stub reason)
  message(STATUS "No report page: ${reason}")
  write_if_other(${OUT} "// Written by the build.
#include \"results/report_page.hpp\"
namespace envoi::results {
std::string_view report_page() { return {}; }
std::string_view report_page_missing() { return \"${reason}\"; }
}  // namespace envoi::results
")
endfunction()

find_program(NPM npm)
find_program(NODE NAMES node nodejs)
if(NOT NPM OR NOT NODE)
  write_stub("it was built without Node.js")
  return()
endif()

file(MAKE_DIRECTORY ${WORK})
# Without the scripts of packages: none of these needs them.
file(SHA256 ${SOURCE}/web/package-lock.json lock)
set(installed "")
if(EXISTS ${WORK}/installed.txt)
  file(READ ${WORK}/installed.txt installed)
endif()
file(REMOVE_RECURSE ${WORK}/src ${WORK}/dist)
file(COPY ${SOURCE}/web/package.json ${SOURCE}/web/package-lock.json ${SOURCE}/web/vite.config.js ${SOURCE}/web/index.html
     ${SOURCE}/web/src DESTINATION ${WORK})
if(NOT installed STREQUAL lock)
  execute_process(COMMAND ${NPM} ci --omit=dev --ignore-scripts --no-audit --no-fund --prefer-offline --fetch-retries=1
                  WORKING_DIRECTORY ${WORK} RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(failed)
    message(STATUS "${said}")
    write_stub("its packages could not be fetched when it was built")
    return()
  endif()
  file(WRITE ${WORK}/installed.txt ${lock})
endif()
execute_process(COMMAND ${NPM} run --silent build WORKING_DIRECTORY ${WORK} RESULT_VARIABLE failed OUTPUT_VARIABLE said
                ERROR_VARIABLE said)
if(failed)
  message(FATAL_ERROR "The report's page does not build:\n${said}")
endif()

file(READ ${WORK}/dist/index.html bytes HEX)
string(REGEX REPLACE "(................................................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
write_if_other(${OUT} "// Written by the build.
#include \"results/report_page.hpp\"
namespace envoi::results {
namespace {
const unsigned char kPage[] = {
${bytes}};
}  // namespace
std::string_view report_page() { return {reinterpret_cast<const char*>(kPage), sizeof kPage}; }
std::string_view report_page_missing() { return {}; }
}  // namespace envoi::results
")
file(WRITE ${WORK}/built.txt "${hashes}")
