// SPDX-License-Identifier: Apache-2.0
// warpbit/ptx.hpp: what is said of launches and modules, as remarks
#include <algorithm>
#include <cstdio>
#include <iterator>

#include "warpbit/ptx.hpp"

namespace warpbit::ptx {
namespace {

// The lines of a finding, for the one that is its cause.
void add_places(const Remark& one, Remark& cause) {
  for (const RemarkPlace& place : one.at) {
    cause.others.push_back(place);
    if (place.what.empty()) cause.others.back().what = "also " + one.rule;
  }
}

Remark with_places(Remark out, const std::string& source, int source_line, const std::string& file, int line,
                   int column) {
  if (!source.empty()) out.at.push_back({source, source_line});
  if (line > 0 && !file.empty()) out.at.push_back({file, line, column, source.empty() ? "" : "PTX"});
  return out;
}

}  // namespace

std::vector<Remark> remarks(std::span<const Error> refused, const std::string& file) {
  std::vector<Remark> out;
  for (const Error& one : refused) {
    int line = 0, column = 0;
    if (std::sscanf(one.where.c_str(), "line %d, column %d", &line, &column) < 1) line = column = 0;
    out.push_back(
        with_places({std::string(name(one.code)), "a module of PTX is refused", Grade::fault, one.message()},
                    "", 0, file, line, column));
  }
  return out;
}

std::vector<Remark> remarks(std::span<const AssemblerNote> notes, const std::string& file) {
  std::vector<Remark> out;
  for (const AssemblerNote& one : notes)
    out.push_back(with_places({one.defect.empty() ? "assembler" : one.defect,
                               "the assembler makes of a statement what the PTX manual does not say",
                               Grade::note, one.statement + ": " + one.text},
                              one.file, one.source_line, file, one.line, 0));
  return out;
}

std::vector<Remark> remarks(const Report& report, const std::string& file) {
  std::vector<Remark> out;
  std::vector<std::size_t> number(report.findings.size());  // of a finding's own remark
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    const Finding& one = report.findings[i];
    Remark own = remark(one.fault, one.grade, file);
    own.times = one.times;
    if (one.cause >= 0 && static_cast<std::size_t>(one.cause) < i) {
      number[i] = number[static_cast<std::size_t>(one.cause)];
      add_places(own, out[number[i]]);
      continue;
    }
    number[i] = out.size();
    out.push_back(std::move(own));
  }
  if (report.fault) out.push_back(remark(*report.fault, Grade::fault, file));
  std::ranges::move(remarks(report.notes, file), std::back_inserter(out));
  return out;
}

}  // namespace warpbit::ptx
