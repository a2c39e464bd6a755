# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, in three components: library, dev and tool.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(WARPBIT_PACKAGE ${CMAKE_CURRENT_BINARY_DIR}/package)
set(WARPBIT_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/warpbit)

# The libraries are two sets, so that only those who want the static one need what it needs.
set_target_properties(warpbit_shared PROPERTIES EXPORT_NAME warpbit)
set_target_properties(warpbit PROPERTIES EXPORT_NAME static)
install(TARGETS warpbit_shared EXPORT warpbit_shared
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT dev
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS warpbit EXPORT warpbit_static
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
foreach(kind shared static)
  install(EXPORT warpbit_${kind} FILE warpbit-${kind}.cmake NAMESPACE warpbit:: DESTINATION ${WARPBIT_CMAKE_DIR}
          COMPONENT dev)
endforeach()
install(DIRECTORY include/warpbit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)

configure_package_config_file(cmake/warpbitConfig.cmake.in ${WARPBIT_PACKAGE}/warpbitConfig.cmake
                              INSTALL_DESTINATION ${WARPBIT_CMAKE_DIR} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${WARPBIT_PACKAGE}/warpbitConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${WARPBIT_PACKAGE}/warpbitConfig.cmake ${WARPBIT_PACKAGE}/warpbitConfigVersion.cmake
        DESTINATION ${WARPBIT_CMAKE_DIR} COMPONENT dev)

# For pkg-config: the prefix as seen from the file, and what the static library needs.
file(RELATIVE_PATH WARPBIT_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
list(TRANSFORM OpenMP_CXX_LIB_NAMES PREPEND -l OUTPUT_VARIABLE WARPBIT_OPENMP)
list(JOIN WARPBIT_OPENMP " " WARPBIT_OPENMP)
configure_file(cmake/warpbit.pc.in ${WARPBIT_PACKAGE}/warpbit.pc @ONLY)
install(FILES ${WARPBIT_PACKAGE}/warpbit.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

# The tool writes its own pages and completions.
if(WARPBIT_TOOLS)
  add_custom_command(OUTPUT ${WARPBIT_PACKAGE}/tool/warpbit.1
                     COMMAND ${CMAKE_COMMAND} -DTOOL=$<TARGET_FILE:warpbit_cli> -DFOLDER=${WARPBIT_PACKAGE}/tool
                             -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/tool_pages.cmake
                     DEPENDS warpbit_cli cmake/tool_pages.cmake VERBATIM)
  add_custom_target(warpbit_pages ALL DEPENDS ${WARPBIT_PACKAGE}/tool/warpbit.1)
  install(TARGETS warpbit_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tool)
  install(DIRECTORY ${WARPBIT_PACKAGE}/tool/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tool
          FILES_MATCHING PATTERN *.1)
  install(FILES ${WARPBIT_PACKAGE}/tool/warpbit.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          RENAME warpbit COMPONENT tool)
  install(FILES ${WARPBIT_PACKAGE}/tool/warpbit.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
          RENAME _warpbit COMPONENT tool)
  install(FILES ${WARPBIT_PACKAGE}/tool/warpbit.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
          COMPONENT tool)
endif()
