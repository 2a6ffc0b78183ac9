# SPDX-License-Identifier: Apache-2.0
# The programs, side by side in bin/: a client looks for its daemon next to itself. Completions and manual pages
# are installed by the folders that make them.
include(GNUInstallDirs)
set(programs kvboost kvboostd kvboost-bench)
install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# All that `cmake --install` takes from the build tree, and no test: what `./bootstrap run` builds.
add_custom_target(kvboost_installation DEPENDS ${programs} kvboost_manuals)
