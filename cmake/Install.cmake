# SPDX-License-Identifier: Apache-2.0
# The programs, side by side in bin/: a client looks for its daemon next to itself. Completions and manual pages
# are installed by the folders that make them.
include(GNUInstallDirs)
foreach(program kvboost kvboostd kvboost-bench)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
