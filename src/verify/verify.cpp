// SPDX-License-Identifier: Apache-2.0
#include "warpbit/verify.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <new>

#include "recording/fields.hpp"
#include "threads.hpp"
#include "verify/kinds.hpp"
#include "warpbit/inputs.hpp"

namespace warpbit {

namespace fs = std::filesystem;
using verification::Carried, verification::Kind, verification::Subject;

namespace verification {

std::span<const Kind> kinds() {
  static constexpr std::array kAll = {
      Kind{"launch", verify_launch},
      Kind{"product", verify_product},
      Kind{"generated_product", verify_generated_product},
      Kind{"reduction", verify_reduction},
      Kind{"copy", verify_copy},
      Kind{"tensor_map", verify_tensor_map},
      Kind{"tensor_maps", verify_tensor_maps},
      Kind{"tensor_map_change", verify_tensor_map_change},
      Kind{"tensor_copies", verify_tensor_copies},
      Kind{"tensor_copy", verify_tensor_copy},
      Kind{"scalar_digests", verify_scalar_digests},
      Kind{"texture_digests", verify_texture_digests},
      Kind{"surface_digests", verify_surface_digests},
      Kind{"kernel_digests", verify_kernel_digests},
  };
  return kAll;
}

Result<Target> Subject::target(std::string_view own) const {
  if (options.target) return *options.target;
  return Target::find(own.empty() ? recording.header().target : own);
}

}  // namespace verification

namespace {

FileStatus status_of(const Error& error) {
  const bool not_here = kind(error.code) == ErrorKind::statement || error.code == Errc::inferred_plan;
  return not_here ? FileStatus::unsupported : FileStatus::unreadable;
}

// Whether the record is in the shard: by its name, so that those of one recording are spread.
bool is_in(const Shard& shard, const Verifiable& one) {
  const inputs::Key key = inputs::key_of(one.record().name.c_str(), 0);
  const std::uint64_t hash = key.w[0] | std::uint64_t{key.w[1]} << 32;
  return inputs::mix(one.number, hash) % shard.count == shard.number - 1;
}

Result<FileStatus> verify_into(FileReport& report, const Verifiable& one, const VerifyOptions& options,
                               Carried* carried) {
  if (carried == nullptr && !is_in(options.shard, one)) return FileStatus::other_shard;
  const auto kind = std::ranges::find(verification::kinds(), one.record().kind, &Kind::name);
  if (kind == verification::kinds().end())
    return Error{Errc::record_malformed, fmt::format("line {}: 'kind'", one.record().line),
                 fmt::format("'{}'", one.record().kind),
                 fmt::format("{}", fmt::join(verifiable_kinds(), ", "))};
  try {
    return kind->verify({*one.recording, one.record(), options, carried}, report);
  } catch (const std::bad_alloc&) {
    return Error{Errc::archive_too_large, one.path.string(), "there is no memory for its arrays",
                 "split the file"};
  }
}

FileReport verify_one(const Verifiable& one, const VerifyOptions& options, Carried* carried) {
  if (!one.recording && !one.error) return replay(one.path, options);
  FileReport report;
  report.path = one.path;
  if (one.error) {
    report.kind = "recording";
    report.error = one.error;
    return report;
  }
  report.kind = one.record().kind;
  report.record = one.record().name;
  report.header.source = one.recording->header().source;
  report.header.target = one.recording->header().target;
  const Result<FileStatus> done = verify_into(report, one, options, carried);
  report.status = done ? *done : status_of(done.error());
  if (!done) report.error = done.error();
  return report;
}

// The items from `first` on that are one piece of work: with `whole` all records of a recording.
std::vector<std::size_t> starts_of(std::span<const Verifiable> all, bool whole) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!whole || i == 0 || !all[i].recording || all[i].recording != all[i - 1].recording) out.push_back(i);
  out.push_back(all.size());
  return out;
}

}  // namespace

std::vector<std::string_view> verifiable_kinds() {
  std::vector<std::string_view> out;
  for (const Kind& kind : verification::kinds()) out.push_back(kind.name);
  return out;
}

std::vector<Verifiable> find_verifiable(std::span<const fs::path> paths, const ReadOptions& options) {
  std::vector<Verifiable> out;
  for (const fs::path& path : find_recorded(paths)) {
    if (!Recording::is_one(path)) {
      out.push_back({path});
      continue;
    }
    Result<Recording> recording = Recording::open(path, options);
    if (!recording) {
      out.push_back({path, {}, 0, recording.error()});
      continue;
    }
    const auto shared = std::make_shared<const Recording>(*std::move(recording));
    for (std::size_t i = 0; i < shared->records().size(); ++i) out.push_back({path, shared, i});
  }
  return out;
}

FileReport verify(const Verifiable& one, const VerifyOptions& options) {
  return verify_one(one, options, nullptr);
}

std::vector<FileReport> verify_all(std::span<const Verifiable> all, const VerifyOptions& options,
                                   const std::function<void(std::size_t)>& progress) {
  std::vector<FileReport> out(all.size());
  std::size_t done = 0;
  std::mutex mutex;
  const std::vector<std::size_t> starts = starts_of(all, options.whole);
  for_each_piece(0, starts.size() - 1, [&](std::size_t piece) {
    Carried carried;
    for (std::size_t i = starts[piece]; i < starts[piece + 1]; ++i) {
      out[i] = verify_one(all[i], options, options.whole ? &carried : nullptr);
      const std::lock_guard lock(mutex);
      ++done;
      if (progress) progress(done);
    }
  });
  return out;
}

}  // namespace warpbit
