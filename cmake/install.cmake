# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where: the libraries core, tools, kernels and programs, each shared and static; dev; tool. A part that
# was not built is not installed (scripts/replay builds the tool alone).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(WARPBIT_PACKAGE ${CMAKE_CURRENT_BINARY_DIR}/package)
set(WARPBIT_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/warpbit)

# warpbit_install(kind target name): one target of the set `kind`, known to others as warpbit::name.
function(warpbit_install kind target name)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS ${target} EXPORT warpbit_${kind}
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT dev OPTIONAL
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev OPTIONAL
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endfunction()

# The shared and the static libraries are two sets, so that only those who want the static ones need what these need.
warpbit_install(shared warpbit_shared warpbit)
warpbit_install(static warpbit static)
foreach(library ${WARPBIT_LIBRARIES})
  warpbit_install(shared warpbit_${library}_shared ${library})
  warpbit_install(static warpbit_${library} ${library}_static)
endforeach()
foreach(kind shared static)
  install(EXPORT warpbit_${kind} FILE warpbit-${kind}.cmake NAMESPACE warpbit:: DESTINATION ${WARPBIT_CMAKE_DIR}
          COMPONENT dev)
endforeach()
install(DIRECTORY include/warpbit ${WARPBIT_MADE_HEADERS}/warpbit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)

configure_package_config_file(cmake/warpbitConfig.cmake.in ${WARPBIT_PACKAGE}/warpbitConfig.cmake
                              INSTALL_DESTINATION ${WARPBIT_CMAKE_DIR} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${WARPBIT_PACKAGE}/warpbitConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${WARPBIT_PACKAGE}/warpbitConfig.cmake ${WARPBIT_PACKAGE}/warpbitConfigVersion.cmake
        DESTINATION ${WARPBIT_CMAKE_DIR} COMPONENT dev)

# For pkg-config: `warpbit` is the core, `warpbit-tools` and `warpbit-kernels` require it, `warpbit-programs` all. Each with the prefix as seen from
# the file, and what its static library needs.
file(RELATIVE_PATH WARPBIT_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
list(TRANSFORM OpenMP_CXX_LIB_NAMES PREPEND -l OUTPUT_VARIABLE WARPBIT_OPENMP)
list(JOIN WARPBIT_OPENMP " " WARPBIT_OPENMP)
function(warpbit_pkg_config name description requires private)
  configure_file(cmake/warpbit.pc.in ${WARPBIT_PACKAGE}/${name}.pc @ONLY)
  install(FILES ${WARPBIT_PACKAGE}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endfunction()
warpbit_pkg_config(warpbit "executes tensor instructions" "" "-lfmt ${WARPBIT_OPENMP} -lstdc++ -lm")
warpbit_pkg_config(warpbit-tools "captures, replay, explain, compare, diagnose, layout" warpbit "-lfmt -lzip ${WARPBIT_OPENMP}")
warpbit_pkg_config(warpbit-kernels "runs kernels: of PTX, and those written on warpbit/device.hpp" warpbit "-lfmt -lboost_context ${WARPBIT_OPENMP}")
warpbit_pkg_config(warpbit-programs "recordings of programs: verify" "warpbit-tools warpbit-kernels" "-lfmt ${WARPBIT_OPENMP}")

# Under what all of this stands.
install(FILES LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/warpbit COMPONENT library)

# The tool writes its own pages and completions.
if(WARPBIT_TOOLS)
  add_custom_command(OUTPUT ${WARPBIT_PACKAGE}/tool/warpbit.1
                     COMMAND ${CMAKE_COMMAND} -DTOOL=$<TARGET_FILE:warpbit_cli> -DFOLDER=${WARPBIT_PACKAGE}/tool
                             -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/tool_pages.cmake
                     DEPENDS warpbit_cli cmake/tool_pages.cmake VERBATIM)
  add_custom_target(warpbit_pages ALL DEPENDS ${WARPBIT_PACKAGE}/tool/warpbit.1)
  # The pictures of the README and the guide: made anew where the tool draws otherwise.
  add_custom_target(warpbit_pictures COMMAND doc/pictures/make $<TARGET_FILE:warpbit_cli> doc/pictures
                    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} DEPENDS warpbit_cli VERBATIM)
  install(TARGETS warpbit_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tool OPTIONAL)
  # The recorder compiles itself where it runs.
  install(DIRECTORY tools/record DESTINATION ${CMAKE_INSTALL_DATADIR}/warpbit COMPONENT tool USE_SOURCE_PERMISSIONS
          PATTERN __pycache__ EXCLUDE)
  install(PROGRAMS tools/arbiter/levels DESTINATION ${CMAKE_INSTALL_DATADIR}/warpbit/arbiter COMPONENT tool)
  install(FILES tools/capture/driver.py tools/capture/recording.py DESTINATION ${CMAKE_INSTALL_DATADIR}/warpbit/capture COMPONENT tool)
  install(DIRECTORY schemas DESTINATION ${CMAKE_INSTALL_DATADIR}/warpbit COMPONENT tool)
  install(DIRECTORY ${WARPBIT_PACKAGE}/tool/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tool
          FILES_MATCHING PATTERN *.1)
  install(FILES ${WARPBIT_PACKAGE}/tool/warpbit.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          RENAME warpbit COMPONENT tool)
  install(FILES ${WARPBIT_PACKAGE}/tool/warpbit.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
          RENAME _warpbit COMPONENT tool)
  install(FILES ${WARPBIT_PACKAGE}/tool/warpbit.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
          COMPONENT tool)
endif()
