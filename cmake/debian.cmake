# SPDX-License-Identifier: Apache-2.0
# cpack runs this over what it has staged, before it packs: what Debian's policy asks beyond what `cmake --install`
# does (chapters 12.1, 12.5 and 12.7), and where its zsh looks.
set(names library ${CPACK_DEBIAN_LIBRARY_PACKAGE_NAME} dev ${CPACK_DEBIAN_DEV_PACKAGE_NAME} tool ${CPACK_DEBIAN_TOOL_PACKAGE_NAME}
          python ${CPACK_DEBIAN_PYTHON_PACKAGE_NAME})
set(usr ${CPACK_TEMPORARY_DIRECTORY}/tool/usr)
file(GLOB pages ${usr}/share/man/man1/*.1)
if(pages)
  execute_process(COMMAND gzip -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
  file(MAKE_DIRECTORY ${usr}/share/zsh)
  file(RENAME ${usr}/share/zsh/site-functions ${usr}/share/zsh/vendor-completions)
endif()
set(version ${CPACK_PACKAGE_VERSION})
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # of SOURCE_DATE_EPOCH, where that is set
while(names)
  list(POP_FRONT names component package)
  if(EXISTS ${CPACK_TEMPORARY_DIRECTORY}/${component})
    set(doc ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr/share/doc/${package})
    configure_file(${CMAKE_CURRENT_LIST_DIR}/debian/changelog.in ${doc}/changelog @ONLY)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/debian/copyright ${doc}/copyright COPYONLY)
    execute_process(COMMAND gzip -9n ${doc}/changelog COMMAND_ERROR_IS_FATAL ANY)
  endif()
endwhile()
