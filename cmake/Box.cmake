# SPDX-License-Identifier: Apache-2.0
# kvboost_box(NAME SOURCES a.cpp ... [PUBLIC lib ...] [PRIVATE lib ...]): one static library a box.
# kvboost_test(NAME SOURCES a_test.cpp ... LIBS lib ...): one GoogleTest binary, each test in ctest.
add_library(kvboost_flags INTERFACE)
# -Wrestrict of g++ 12 sees overlaps in std::string's operator+ that are not there (GCC bug 105651).
target_compile_options(kvboost_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
  -Wno-sign-conversion -Wno-restrict -Werror=return-type -Werror=unused-result)
target_include_directories(kvboost_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
if(KVBOOST_SANITIZE)
  target_compile_options(kvboost_flags INTERFACE -fsanitize=${KVBOOST_SANITIZE} -fno-omit-frame-pointer -g)
  target_link_options(kvboost_flags INTERFACE -fsanitize=${KVBOOST_SANITIZE})
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
