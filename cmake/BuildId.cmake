# SPDX-License-Identifier: Apache-2.0
# Run at each build (cmake -P): writes build_id_values.h, the digest over all sources and FLAGS, when it has changed.
# In: SOURCE_DIR, OUTPUT, VERSION, FLAGS.
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE sources LIST_DIRECTORIES false RELATIVE ${SOURCE_DIR}
  ${SOURCE_DIR}/base/* ${SOURCE_DIR}/cache/* ${SOURCE_DIR}/engine/* ${SOURCE_DIR}/daemon/* ${SOURCE_DIR}/cli/*
  ${SOURCE_DIR}/cmake/* ${SOURCE_DIR}/CMakeLists.txt)
list(FILTER sources INCLUDE REGEX "\\.(h|cpp|c|scm|cmake)$|CMakeLists\\.txt$")
list(SORT sources)
set(all "${VERSION}\n${FLAGS}\n")
foreach(source IN LISTS sources)
  file(SHA256 ${SOURCE_DIR}/${source} digest)
  string(APPEND all "${source} ${digest}\n")
endforeach()
string(SHA256 digest "${all}")
string(SUBSTRING ${digest} 0 16 digest)
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT "// SPDX-License-Identifier: Apache-2.0
#define KVBOOST_VERSION \"${VERSION}\"
#define KVBOOST_BUILD_ID \"${digest}\"
")
