# SPDX-License-Identifier: Apache-2.0
# The libraries of the stack, all from Debian's packages; tree-sitter comes with its grammars, see
# cache/chunk/grammars. Torch is looked up by its files: its own CMake package drags in protobuf, CUDA and Caffe2
# checks that an inference build has no use for.
find_package(Threads REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(Boost CONFIG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(libgit2 REQUIRED IMPORTED_TARGET libgit2)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(pcre2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(highway REQUIRED IMPORTED_TARGET libhwy)

find_path(LMDB_INCLUDE_DIR lmdb.h REQUIRED)
find_library(LMDB_LIBRARY lmdb REQUIRED)
add_library(kvboost_lmdb INTERFACE)
target_include_directories(kvboost_lmdb SYSTEM INTERFACE ${LMDB_INCLUDE_DIR})
target_link_libraries(kvboost_lmdb INTERFACE ${LMDB_LIBRARY})

find_path(TORCH_INCLUDE_DIR torch/csrc/api/include/torch/torch.h REQUIRED)
find_library(TORCH_LIBRARY torch REQUIRED)
find_library(TORCH_CPU_LIBRARY torch_cpu REQUIRED)
find_library(C10_LIBRARY c10 REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
add_library(kvboost_torch INTERFACE)
target_include_directories(kvboost_torch SYSTEM INTERFACE
  ${TORCH_INCLUDE_DIR} ${TORCH_INCLUDE_DIR}/torch/csrc/api/include)
target_link_libraries(kvboost_torch INTERFACE
  ${TORCH_LIBRARY} ${TORCH_CPU_LIBRARY} ${C10_LIBRARY} OpenMP::OpenMP_CXX)

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(CCACHE ccache)
  if(CCACHE)
    set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  endif()
endif()
