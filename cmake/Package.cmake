# SPDX-License-Identifier: Apache-2.0
# `cpack --config build/release/CPackConfig.cmake` makes a .deb of what is installed, for the Debian that it is
# made on: which libraries it depends on, and of which versions, dpkg-shlibdeps (package dpkg-dev) finds out.
include(GNUInstallDirs)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME kvboost)
set(CPACK_PACKAGE_CONTACT "the kvboost developers <kvboost@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "answers questions about a repository with a model of your own")
set(CPACK_SET_DESTDIR ON) # so that the units name the programs where they will lie
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Any BLAS does; others are many times slower.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libopenblas0-openmp | libopenblas0")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS git)
include(CPack)
