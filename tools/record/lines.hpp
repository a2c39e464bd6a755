// SPDX-License-Identifier: Apache-2.0
// The lines of a recording.
#pragma once

#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "json.hpp"
#include "launch.hpp"
#include "options.hpp"
#include "writer.hpp"

namespace warpbit::record {

/// The first line of a recording.
inline std::string header_json(const Driver& driver, const Options& options) {
  int device = 0, major = 0, minor = 0, version = 0;
  char name[128] = "", date[16] = "", target[16] = "";
  driver.context_device(&device);
  driver.device_attribute(&major, kMajor, device);
  driver.device_attribute(&minor, kMinor, device);
  driver.device_name(name, sizeof name, device);
  driver.version(&version);
  const std::time_t now = std::time(nullptr);
  std::tm day{};
  std::strftime(date, sizeof date, "%Y-%m-%d", gmtime_r(&now, &day));
  std::snprintf(target, sizeof target, "sm_%d%s", 10 * major + minor, major >= 9 ? "a" : "");
  return JsonObject()
      .add("format", "\"recording-1\"")
      .text("target", target)
      .add("source", "\"hardware\"")
      .text("program", options.program)
      .text("device", name)
      .text("driver", environment("DRIVER"))
      .text("toolkit", "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10))
      .text("date", date)
      .str();
}

/// What is known behind a launch. Memory lies at the places of its parts.
struct Outcome {
  const unsigned char *before, *after;
  std::vector<Part> changed;
  bool is_known;       // what memory was afterwards
  std::string stable;  // "true", "false", or nothing
};

inline JsonList parameters_json(const Pending& p) {
  JsonList out;
  const Function& function = *p.function;
  for (std::size_t i = 0; i < function.sizes.size(); ++i)
    out.add(JsonObject()
                .add("bytes", quoted_hex(p.parameters.data() + function.offsets[i], function.sizes[i]))
                .str());
  return out;
}

/// Of a part or variable: its data files are written.
inline std::string part_json(const Part& part, const Outcome& outcome, Writer& writer) {
  JsonObject out;
  if (!part.is_variable) out.add("address", quoted_address(part.address)).add("bytes", part.bytes);
  out.text("name", part.name).add("before", quoted(writer.data(outcome.before + part.at, part.bytes)));
  const bool is_changed = covers(outcome.changed, part.address);
  if (!outcome.is_known && !part.is_variable) out.add("after", "null");
  if (outcome.is_known && (is_changed || part.is_variable))
    out.add("after", quoted(writer.data((is_changed ? outcome.after : outcome.before) + part.at, part.bytes)));
  return out.str();
}

/// The members of a launch's record but `kind` and `name`.
inline std::string launch_json(const Pending& p, const Outcome& outcome, Writer& writer) {
  const Launch& l = p.launch;
  const Function& function = *p.function;
  JsonList memory, variables;
  for (const Part& part : p.parts)
    (part.is_variable ? variables : memory).add(part_json(part, outcome, writer));
  JsonObject object;
  object.text("entry", function.entry);
  if (function.ptx != nullptr)
    object.add("module", quoted(writer.data(function.ptx->text.data(), function.ptx->text.size(), ".ptx")));
  object.text("reason", p.reason).add("grid", json_extent(l.grid)).add("block", json_extent(l.block));
  if (l.cluster[0] != 0) object.add("cluster", json_extent(l.cluster));
  object.add("shared", std::uint64_t{l.shared});
  if (l.is_cooperative) object.add("cooperative", "true");
  object.add("parameters", parameters_json(p).str()).add("memory", memory.str());
  if (variables.str() != "[]") object.add("variables", variables.str());
  if (!outcome.stable.empty()) object.add("stable", outcome.stable);
  if (p.points_elsewhere) {
    object.text("note", "words in its memory point to memory that is not recorded; --follow records it");
    writer.left_out("memory behind pointers in memory (--follow)");
  }
  const ThreadState& thread = this_thread();
  const std::string& library = function.ptx != nullptr ? function.ptx->library : std::string();
  object.text("where", thread.where);
  object.text("library", !library.empty() ? library : !thread.library.empty() ? thread.library : "driver");
  return object.str();
}

}  // namespace warpbit::record
