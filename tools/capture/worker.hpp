// SPDX-License-Identifier: Apache-2.0
// Work that may end the process that does it: what a kernel does wrong stays with a process, and every later
// call of the driver returns the same error (CUDA Driver API manual, cuCtxSynchronize).
#pragma once

#include <cstddef>
#include <functional>

namespace capture {

/// What became of a task. Of `none` nothing is known: the process died.
enum class Outcome : char { done = 'd', failed = 'f', none = 'n' };

/// To be called by a worker after each task, in order.
using Report = std::function<void(Outcome)>;

/// Does tasks first, first + 1, ... until all are reported or no more can be done in this process. What it
/// throws ends everything.
using Worker = std::function<void(std::size_t first, const Report& report)>;

/// Has `work` done for `count` tasks in a process of its own, in a new one for the tasks behind those after
/// which it ended. heard(task, outcome) is called here. False if a process threw; it has said why.
bool in_processes(std::size_t count, const Worker& work,
                  const std::function<void(std::size_t, Outcome)>& heard);

}  // namespace capture
