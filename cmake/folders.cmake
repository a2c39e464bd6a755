# SPDX-License-Identifier: Apache-2.0
# The folders of src/ that the four libraries are made of.
set(WARPBIT_LIBRARIES core tools kernels programs)
set(WARPBIT_core_FOLDERS . numeric fragment machine target isa isa/families kernel format api block c)
set(WARPBIT_tools_FOLDERS text capture recording record probes replay explain compare order diagnose layout run c/tools)
set(WARPBIT_kernels_FOLDERS async device tensor_map texture ptx ptx/rows scalar assembler grid c/kernels)
set(WARPBIT_programs_FOLDERS verify arbiter reduction)

# The index of the captures, a string for each line.
set(WARPBIT_ROOT ${CMAKE_CURRENT_LIST_DIR}/..)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${WARPBIT_ROOT}/golden/index.tsv)
file(READ ${WARPBIT_ROOT}/golden/index.tsv WARPBIT_INDEX_LINES)
string(REGEX REPLACE "([^\n]+)\n" "    R\"tsv(\\1)tsv\",\n" WARPBIT_INDEX_LINES "${WARPBIT_INDEX_LINES}")
file(CONFIGURE OUTPUT golden_index.inc CONTENT "@WARPBIT_INDEX_LINES@" @ONLY)

# The forms that a GPU has executed, each with its recording: golden/forms.tsv, and the first column of the scalar digests.
set(WARPBIT_RECORDED_FORMS "")
foreach(file golden/forms.tsv golden-digests/scalar/sm_90a.tsv golden-digests/textures/sm_90.tsv)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${WARPBIT_ROOT}/${file})
  file(STRINGS ${WARPBIT_ROOT}/${file} lines REGEX "^[a-z0-9]+[.].*\t")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^([^\t]+)\t([^\t]+)" line "${line}")
    set(recording "${CMAKE_MATCH_2}")
    if(NOT file STREQUAL golden/forms.tsv)
      set(recording ${file})
    endif()
    string(FIND "${WARPBIT_RECORDED_FORMS}" "{\"${CMAKE_MATCH_1}\", " known)
    if(known GREATER -1)
      continue()
    endif()
    string(APPEND WARPBIT_RECORDED_FORMS "    {\"${CMAKE_MATCH_1}\", \"${recording}\"},\n")
  endforeach()
endforeach()
file(CONFIGURE OUTPUT recorded_forms.inc CONTENT "@WARPBIT_RECORDED_FORMS@" @ONLY)
