# SPDX-License-Identifier: Apache-2.0
# kvboost_box(NAME SOURCES a.cpp ... [PUBLIC lib ...] [PRIVATE lib ...]): one static library a box.
# kvboost_test(NAME SOURCES a_test.cpp ... LIBS lib ...): one GoogleTest binary, each test in ctest.
add_library(kvboost_flags INTERFACE)
# -Wrestrict of g++ 12 sees overlaps in std::string's operator+ that are not there (GCC bug 105651).
target_compile_options(kvboost_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  -Wno-sign-conversion -Wno-restrict -Werror=return-type -Werror=unused-result)
target_include_directories(kvboost_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
if(KVBOOST_SANITIZE)
  # What UBSan finds ends the program, as with ASan: a test that only prints it would pass.
  target_compile_options(kvboost_flags INTERFACE -fsanitize=${KVBOOST_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer -g)
  target_link_options(kvboost_flags INTERFACE -fsanitize=${KVBOOST_SANITIZE})
endif()
if(KVBOOST_FUZZ)
  # Code tells the fuzzers where it has been; only they link then.
  target_compile_options(kvboost_flags INTERFACE
    $<IF:$<CXX_COMPILER_ID:Clang>,-fsanitize=fuzzer-no-link,-fsanitize-coverage=trace-pc>)
endif()

function(kvboost_box name)
  cmake_parse_arguments(BOX "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${BOX_SOURCES})
  target_link_libraries(${name} PUBLIC ${BOX_PUBLIC} PRIVATE kvboost_flags ${BOX_PRIVATE})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
endfunction()

function(kvboost_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE kvboost_flags ${TEST_LIBS} GTest::gtest_main)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 300)
endfunction()
