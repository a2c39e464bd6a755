// SPDX-License-Identifier: Apache-2.0
// A recorded launch that is run again in other ways, and compared with what the GPU left.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "verify/prepare.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::arbiter {

/// A part of memory, or a variable of the module behind these, where some bytes differ.
struct Difference {
  std::size_t part;
  std::string name;
  std::uint64_t differing = 0, bytes = 0;
  std::size_t first = 0, last = 0;  ///< bytes that differ
  std::uint32_t gpu = 0, here = 0;  ///< the word of the first one, or its byte

  /// "out: 3 of 64 bytes differ, the first is byte 12: 0x... on the GPU, 0x... here"
  std::string text() const;
};

struct Outcome {
  std::optional<Error> refused;  ///< why nothing has run
  ptx::Report report;
  std::vector<Difference> differences;

  bool has_run() const { return !refused && !report.fault; }
  bool is_equal() const { return has_run() && differences.empty(); }
};

/// A thread of a launch.
struct Thread {
  device::Index3 block;
  int warp = 0, lane = 0;
};

/// A wrong element, and the block that stores it.
struct Probe {
  device::Index3 block;
  std::size_t part, byte;
};

/// How a launch is run otherwise than it was recorded.
struct Way {
  std::function<void(ptx::Launch&)> change = {};
  std::optional<Target> target = {};
};

class Experiment {
 public:
  /// Errors: those of reading the record and its data; usage without PTX.
  static Result<Experiment> read(const Recording& recording, const Record& record,
                                 const VerifyOptions& options);

  const RecordedLaunch& launch() const { return *launch_; }
  Target target() const { return target_; }
  const std::string& text() const { return text_; }
  /// Runs a text in a way, with all checks that the options ask for. May be called by several threads.
  Outcome run(const std::string& text, const Way& way = {}) const;
  /// The same without checks, for as many steps as `limit` says.
  Outcome try_out(const std::string& text, std::uint64_t limit) const;
  /// Whether a text may have the bytes of the GPU: the launch ends behind the block of a wrong element, which must be right.
  bool may_fit(const std::string& text, std::uint64_t limit, const Probe& probe) const;
  /// The warp that first writes to memory around a byte, by the fault that it is if nobody may. No lane; nothing if nobody does.
  std::optional<Thread> writer(std::size_t part, std::size_t byte, std::size_t around) const;
  /// The address of a byte.
  std::uint64_t address(std::size_t part, std::size_t byte) const;
  /// The bytes that the GPU left from an address on; nothing where they are not known.
  std::optional<std::uint64_t> left(std::uint64_t address, std::size_t bytes) const;
  /// Whether the launch would have left nothing else than was there.
  bool leaves_memory() const;

 private:
  using Parts = std::vector<verification::Part>;
  Experiment(const Recording& recording, const Record& record, const VerifyOptions& options)
      : recording_(recording), record_(record), options_(options) {}
  verification::Subject subject() const { return {recording_, record_, options_, nullptr}; }
  Outcome run(const std::string& text, const Way& way, Parts& parts,
              const std::function<void(ptx::Launch&)>& place) const;
  Result<void> compare(const ptx::Module& module, const Parts& parts, Outcome& out) const;

  const Recording& recording_;
  const Record& record_;
  VerifyOptions options_;
  std::shared_ptr<const RecordedLaunch> launch_;
  Target target_ = Target::all().front();
  std::string text_;
  Parts parts_;
};

}  // namespace warpbit::arbiter
