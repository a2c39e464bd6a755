# SPDX-License-Identifier: Apache-2.0
# What `cpack -G DEB` makes of the components: libwarpbit1, libwarpbit-dev, warpbit, the tool, and python3-warpbit. The tool and the
# module hold the library.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                                WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL library dev)
if(WARPBIT_TOOLS)
  list(APPEND CPACK_COMPONENTS_ALL tool)
endif()
if(WARPBIT_PYTHON)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/cmake/debian.cmake)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "warpbit maintainers <maintainers@warpbit.invalid>")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(soname libwarpbit${PROJECT_VERSION_MAJOR})

# warpbit_debian(component package section summary text)
function(warpbit_debian component package section summary text)
  string(TOUPPER ${component} upper)
  foreach(pair "DEBIAN_${upper}_PACKAGE_NAME;${package}" "DEBIAN_${upper}_PACKAGE_SECTION;${section}"
               "DEBIAN_${upper}_DESCRIPTION;${summary}\n${text}")
    list(POP_FRONT pair name)
    set(CPACK_${name} "${pair}" PARENT_SCOPE)
  endforeach()
endfunction()
warpbit_debian(library ${soname} libs "NVIDIA's tensor instructions on a CPU, bit by bit: library"
               "mma, wmma, wgmma, ldmatrix and cvt, executed as real GPUs compute them.\nThis is the shared library.")
warpbit_debian(dev libwarpbit-dev libdevel "NVIDIA's tensor instructions on a CPU, bit by bit: development"
               "Headers for C++20 and C, the static library,\nand what CMake and pkg-config read.")
warpbit_debian(tool warpbit utils "NVIDIA's tensor instructions on a CPU, bit by bit: command line"
               "Replays what GPUs were recorded to answer, shows fragments,\nexplains and compares roundings.")
warpbit_debian(python python3-warpbit python "NVIDIA's tensor instructions on a CPU, bit by bit: Python"
               "Executes instructions and kernels of PTX on arrays,\nexplains and compares roundings, asserts bits in tests.")
set(CPACK_DEBIAN_TOOL_PACKAGE_DEPENDS python3)  # its recorder and arbiter of levels are scripts
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
    "python3 (>= ${WARPBIT_PYTHON_VERSION}), python3 (<< ${WARPBIT_PYTHON_VERSION_AFTER}), python3-numpy")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/cmake/debian/triggers)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "${soname} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS "libboost-context-dev, libfmt-dev, libzip-dev")
include(CPack)
