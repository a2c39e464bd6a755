// SPDX-License-Identifier: Apache-2.0
// warpbit/review.hpp: remarks, and where they are
#include <algorithm>
#include <iterator>
#include <system_error>
#include <tuple>

#include "function_name.hpp"
#include "review/paths.hpp"

namespace warpbit {

namespace fs = std::filesystem;

namespace review {

std::optional<fs::path> below(const std::string& file, const fs::path& root) {
  if (file.empty()) return std::nullopt;
  std::error_code error;
  // A compiler that was called from the root names a file from there on, wherever its test runs.
  const bool is_from_root =
      fs::path(file).is_relative() && !fs::exists(file, error) && fs::exists(root / file, error);
  const fs::path whole = is_from_root ? root / file : fs::absolute(file, error),
                 top = fs::absolute(root, error);
  // As it is written, and behind links.
  for (const fs::path& out :
       {whole.lexically_normal().lexically_relative(top.lexically_normal()),
        fs::weakly_canonical(whole, error).lexically_relative(fs::weakly_canonical(top, error))})
    if (!out.empty() && *out.begin() != ".." && out != ".") return out;
  return std::nullopt;
}

}  // namespace review

namespace {

constexpr const char* kPtx = "PTX";
constexpr const char* kTold = "line of the message";  // where that is not the first line of the chain

// The lines of one side, the innermost first.
std::vector<RemarkPlace> places_of(const FaultSide& side, const std::string& ptx_file,
                                   const std::string& what) {
  std::vector<RemarkPlace> out;
  for (auto link = side.chain.rbegin(); link != side.chain.rend(); ++link) {
    const bool is_told = what.empty() && static_cast<unsigned>(link->line) == side.at.line &&
                         link->file == side.at.file && link->line != side.chain.front().line;
    out.push_back({link->file, link->line, 0, is_told ? kTold : out.empty() ? what : "inlined here"});
  }
  if (out.empty() && side.at.line != 0) out.push_back({side.at.file, static_cast<int>(side.at.line), 0, what});
  if (side.ptx_line != 0 && !ptx_file.empty())
    out.push_back({ptx_file, side.ptx_line, 0, out.empty() ? what : kPtx});
  return out;
}

void append(std::vector<RemarkPlace> more, std::vector<RemarkPlace>& to) {
  std::ranges::move(more, std::back_inserter(to));
}

}  // namespace

Remark remark(const Fault& fault, Grade grade, const std::string& ptx_file) {
  const KernelRuleInfo* const rule = find_info(fault.rule);
  Remark out{std::string(rule == nullptr ? name(fault.error.code) : rule->name),
             rule == nullptr ? "nothing can go on behind it" : std::string(rule->says), grade, fault.message(),
             function_name(fault.kernel)};
  out.at = places_of(fault, ptx_file, "");
  if (fault.other) append(places_of(*fault.other, ptx_file, "the other side"), out.others);
  for (const FaultSide& one : fault.related)
    append(places_of(one, ptx_file, one.what.empty() ? "related" : one.what), out.others);
  for (const FaultWaiters& one : fault.waiting) {
    FaultSide side;
    side.at = one.at;
    side.ptx_line = one.ptx_line;
    side.chain = one.chain;
    append(places_of(side, ptx_file, one.awaits), out.others);
  }
  return out;
}

std::vector<Remark> merged(std::vector<Remark> all) {
  std::vector<Remark> out;
  const auto key = [](const Remark& one) { return std::tie(one.rule, one.grade, one.kernel, one.at); };
  for (Remark& one : all) {
    const auto known =
        one.at.empty() ? out.end()
                       : std::ranges::find_if(out, [&](const Remark& other) { return key(one) == key(other); });
    if (known == out.end())
      out.push_back(std::move(one));
    else
      known->times += one.times;
  }
  return out;
}

fs::path review_root() {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  for (fs::path at = here; !at.empty(); at = at.parent_path()) {
    if (fs::exists(at / ".git", error)) return at;
    if (at == at.parent_path()) break;
  }
  return here;
}

const RemarkPlace* shown_place(const Remark& of, const fs::path& root) {
  const auto exists = [&](const RemarkPlace& one) {
    std::error_code error;
    const std::optional<fs::path> path = review::below(one.file, root);
    return path && fs::exists(root / *path, error);
  };
  // What the message begins with; from the line of the kernel inwards; the PTX last.
  std::vector<const RemarkPlace*> all;
  for (const RemarkPlace& one : of.at)
    if (!one.file.empty()) all.insert(one.what == kPtx ? all.end() : all.begin(), &one);
  std::ranges::stable_partition(all, [](const RemarkPlace* one) { return one->what == kTold; });
  const auto own = std::ranges::find_if(all, [&](const RemarkPlace* one) { return exists(*one); });
  return own != all.end() ? *own : all.empty() ? nullptr : all.front();
}

}  // namespace warpbit
