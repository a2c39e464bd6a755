// SPDX-License-Identifier: Apache-2.0
// Runs kernels on generated inputs and writes what they return.
#pragma once

#include <string>

#include "driver.hpp"
#include "generator.hpp"
#include "kernels.hpp"
#include "options.hpp"
#include "provenance.hpp"

namespace capture {

/// What all captures of a run say about themselves.
struct Origin {
  std::string target;
  Answerer by;
};

class Recorder {
 public:
  Recorder(const Device& device, Generator& generator, const Options& options, Origin origin)
      : device_(device), generator_(generator), options_(options), origin_(std::move(origin)) {}

  /// Runs a kernel twice and writes its capture, or its digests. Returns one line for a person. Throws Failure;
  /// also if the two runs differ.
  std::string record(const Kernel& kernel, Function function);
  /// The same of probes, in the layout `elements`.
  std::string record_probes(const Kernel& kernel, const ProbeSet& set, Function function);

 private:
  std::string write_capture(const Kernel& kernel, Function function);
  std::string write_digests(const Kernel& kernel, Function function);
  std::string path(const Kernel& kernel, const std::string& suffix) const;
  std::string provenance(std::uint64_t first_case) const;

  const Device& device_;
  Generator& generator_;
  const Options& options_;
  Origin origin_;
};

}  // namespace capture
