# SPDX-License-Identifier: Apache-2.0
# kvboost_fuzz(NAME SOURCES a_fuzz.cpp [SEEDS a_seeds.cpp] LIBS lib ... [RUNS n]): a fuzzer of one parser of
# outside bytes, and a short run of it in ctest.
#
# To add one for another parser: tests/fuzz/x_fuzz.cpp defines
#   extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
# which hands the bytes to the parser, uses what comes out, and returns 0; tests/fuzz/x_seeds.cpp is a program that
# writes good inputs into the folder it is given; a kvboost_fuzz line in tests/fuzz/CMakeLists.txt names both. What
# must never happen is asserted with std::abort(). A slow input counts as a hang after 20 s of its own time.
#
# With clang the fuzzer is libFuzzer; with g++ it is tests/fuzz/standalone_driver.cpp, which takes the same flags:
#   build/fuzz/bin/x_fuzz -max_total_time=600 -seed=7 FOLDER    mutates the inputs in FOLDER for ten minutes
#   build/fuzz/bin/x_fuzz FILE                                  replays one input
# The preset `fuzz` (cmake --preset fuzz && cmake --build --preset fuzz) builds the fuzzers alone, with sanitizers and
# coverage: inputs that reach new code are then kept in FOLDER. A crash leaves its input in a file, which is named.
# For long runs set ASAN_OPTIONS=malloc_context_size=2: AddressSanitizer never forgets a call stack, and parsers have
# so many that its memory alone reaches the limit.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Not built with kvboost_flags: the driver must not trace itself.
  add_library(kvboost_fuzz_driver STATIC ${PROJECT_SOURCE_DIR}/tests/fuzz/standalone_driver.cpp)
  add_library(kvboost_fuzz_coverage STATIC ${PROJECT_SOURCE_DIR}/tests/fuzz/coverage.cpp)
  target_include_directories(kvboost_fuzz_coverage PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(kvboost_fuzz_driver PUBLIC kvboost_fuzz_coverage)
endif()
add_custom_target(fuzzers)

function(kvboost_fuzz name)
  cmake_parse_arguments(FUZZ "" "RUNS" "SOURCES;SEEDS;LIBS" ${ARGN})
  if(NOT FUZZ_RUNS)
    set(FUZZ_RUNS 3000)
  endif()
  add_executable(${name} ${FUZZ_SOURCES})
  target_link_libraries(${name} PRIVATE kvboost_flags ${FUZZ_LIBS})
  if(TARGET kvboost_fuzz_driver)
    target_link_libraries(${name} PRIVATE kvboost_fuzz_driver)
  else()
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  endif()

  add_dependencies(fuzzers ${name})

  set(corpus ${PROJECT_BINARY_DIR}/fuzz/${name})
  file(MAKE_DIRECTORY ${corpus})
  add_test(NAME ${name} COMMAND ${name} -runs=${FUZZ_RUNS} -seed=1 -artifact_prefix=${PROJECT_BINARY_DIR}/fuzz/
                                ${corpus})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300)
  if(FUZZ_SEEDS)
    add_executable(${name}_seeds ${FUZZ_SEEDS})
    target_link_libraries(${name}_seeds PRIVATE kvboost_flags ${FUZZ_LIBS} $<TARGET_NAME_IF_EXISTS:kvboost_fuzz_coverage>)
    add_dependencies(fuzzers ${name}_seeds)
    add_test(NAME ${name}_seeds COMMAND ${name}_seeds ${corpus})
    set_tests_properties(${name}_seeds PROPERTIES FIXTURES_SETUP ${name})
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED ${name})
  endif()
endfunction()
