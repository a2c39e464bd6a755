# SPDX-License-Identifier: Apache-2.0
# cmake -DTOOL=warpbit -DFOLDER=folder -P tool_pages.cmake
# Writes warpbit.1, warpbit-COMMAND.1 of each command and warpbit.SHELL of each shell.
function(write name)
  execute_process(COMMAND ${TOOL} ${ARGN} OUTPUT_FILE ${FOLDER}/${name} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
foreach(shell bash zsh fish)
  write(warpbit.${shell} completion ${shell})
endforeach()
execute_process(COMMAND ${TOOL} man OUTPUT_VARIABLE page COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\n[.]TP\n[.]B [a-z]+" commands "${page}")
foreach(command ${commands})
  string(REGEX REPLACE ".* " "" command "${command}")
  write(warpbit-${command}.1 man ${command})
endforeach()
write(warpbit.1 man)
