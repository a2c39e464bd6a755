// SPDX-License-Identifier: Apache-2.0
#include "arbiter/minimal.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "arbiter/hypotheses.hpp"
#include "ptx/type.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::arbiter {
namespace {

using Words = std::vector<std::uint64_t>;
constexpr int kMaxConstants = 32;

class Minimal {
 public:
  Minimal(const Code& code, const Slice& slice, int site) : code_(code), slice_(slice), site_(site) {}
  std::string find(const std::string& instead, std::string_view defect);

 private:
  const Event& event(int i) const { return slice_.trace.events[static_cast<std::size_t>(i)]; }
  const Site& site(int i) const { return code_.site(event(i).site); }
  std::vector<int> chain() const;
  bool is_constant(int i, int depth) const;
  int definition(int above, const std::string& name) const;
  bool take(int i);
  const ptx::Register* declared(const std::string& name) const;
  std::string text(int last) const;
  std::string declarations() const;
  std::string loads() const;

  const Code& code_;
  const Slice& slice_;
  const int site_;
  std::set<int> taken_;                                        // events of the module
  std::vector<std::pair<std::string, std::uint64_t>> inputs_;  // registers that the array has
};

// What the module stores; nothing if it does not run.
std::optional<Words> run_minimal(const std::string& text) {
  const Result<ptx::Module> module = ptx::Module::load(text);
  if (!module) return {};
  const Result<ptx::Function> function = module->function("minimal");
  if (!function) return {};
  Words out(8);
  const ptx::Report report = function->launch({}, {ptx::buffer(out)});
  return report.fault ? std::nullopt : std::optional(out);
}

// The event of the statement that the element comes from, and those behind it that depend on it.
std::vector<int> Minimal::chain() const {
  std::vector<int> events = slice_.events, out;
  std::ranges::sort(events);
  const auto first = std::ranges::find_if(events.rbegin(), events.rend(),
                                          [&](int i) { return i <= slice_.store && event(i).site == site_; });
  if (first == events.rend()) return out;
  std::set<std::string> made;
  for (auto i = first.base() - 1; i != events.end() && *i < slice_.store; ++i) {
    const bool takes = std::ranges::any_of(event(*i).sources,
                                           [&](const RegisterValue& one) { return made.contains(one.name); });
    if (!out.empty() && !takes) continue;
    if (!site(*i).writes_first || (!out.empty() && is_load(site(*i)))) break;
    out.push_back(*i);
    for (const RegisterValue& one : event(*i).results) made.insert(one.name);
  }
  return out;
}

int Minimal::definition(int above, const std::string& name) const {
  int out = above - 1;
  while (out >= 0 && !event(out).result(name)) --out;
  return out;
}

// Whether a statement makes its result of literals alone.
bool Minimal::is_constant(int i, int depth) const {
  if (depth == 0 || is_load(site(i)) || !site(i).writes_first) return false;
  const auto& operands = site(i).parts.operands;
  for (std::size_t n = 1; n < operands.size(); ++n)
    if (operands[n].kind == OperandText::Kind::name && !event(i).source(operands[n].name))
      return false;  // %tid.x
  return std::ranges::all_of(event(i).sources, [&](const RegisterValue& one) {
    const int from = definition(i, one.name);
    return from >= 0 && is_constant(from, depth - 1);
  });
}

const ptx::Register* Minimal::declared(const std::string& name) const {
  const auto& all = code_.site(site_).function->registers;
  const auto found = std::ranges::find(all, name, &ptx::Register::name);
  return found == all.end() ? nullptr : &*found;
}

// Takes an event into the module, with the constants that it needs; other sources become inputs.
bool Minimal::take(int i) {
  if (!taken_.insert(i).second) return true;
  if (taken_.size() > kMaxConstants) return false;
  for (const RegisterValue& one : event(i).sources) {
    const int from = definition(i, one.name);
    if (from >= 0 && (taken_.contains(from) || is_constant(from, 8))) {
      if (!take(from)) return false;
    } else if (std::ranges::find(inputs_, one.name, &std::pair<std::string, std::uint64_t>::first) ==
               inputs_.end()) {
      inputs_.emplace_back(one.name, one.bits);
    }
  }
  return true;
}

std::string Minimal::declarations() const {
  std::set<std::string> names;
  for (const auto& [name, bits] : inputs_) names.insert(name);
  for (const int i : taken_)
    for (const RegisterValue& one : event(i).results) names.insert(one.name);
  std::string out;
  for (const std::string& name : names)
    if (const ptx::Register* const one = declared(name))
      out += fmt::format("  .reg .{} {};\n", ptx::row(one->type).name, name);
  return out;
}

std::string Minimal::loads() const {
  std::string out;
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    const std::string& name = inputs_[k].first;
    const ptx::Register* const one = declared(name);
    if (one == nullptr) return "";
    const int bits = ptx::bits(one->type);
    if (bits == 1)
      out += fmt::format("  ld.global.b32 _word, [inputs+{}]; setp.ne.u32 {}, _word, 0;\n", 8 * k, name);
    else
      out += fmt::format("  ld.global.b{} {}, [inputs+{}];\n", bits, name, 8 * k);
  }
  return out;
}

// The module up to an event, whose results it stores.
std::string Minimal::text(int last) const {
  std::string body, stores;
  for (const int i : taken_) body += fmt::format("  {};\n", site(i).text.substr(site(i).guard.size()));
  int at = 0;
  for (const RegisterValue& one : event(last).results) {
    const ptx::Register* const reg = declared(one.name);
    if (reg == nullptr || at == 8) return "";
    const int bits = ptx::bits(reg->type);
    stores += bits == 1 ? fmt::format("  selp.u32 _word, 1, 0, {}; st.global.u32 [_out+{}], _word;\n", one.name,
                                      8 * at)
                        : fmt::format("  st.global.b{} [_out+{}], {};\n", bits, 8 * at, one.name);
    ++at;
  }
  std::vector<std::string> values = {"0"};
  if (!inputs_.empty()) values.clear();
  for (const auto& [name, bits] : inputs_) values.push_back(fmt::format("{:#x}", bits));
  const ptx::ModuleText& module = code_.module();
  return fmt::format(
      ".version {}.{}\n.target {}\n.address_size 64\n.visible .global .align 8 .u64 inputs[{}] = {{{}}};\n"
      ".visible .entry minimal(.param .u64 out)\n{{\n  .reg .b32 _word; .reg .b64 _out;\n{}"
      "  ld.param.u64 _out, [out]; cvta.to.global.u64 _out, _out;\n{}{}{}  ret;\n}}\n",
      module.version.major, module.version.minor, module.target, values.size(), fmt::join(values, ", "),
      declarations(), loads(), body, stores);
}

std::string Minimal::find(const std::string& instead, std::string_view defect) {
  for (const int last : chain()) {
    if (!take(last)) return "";
    const std::string text = this->text(last);
    const std::optional<Words> right = run_minimal(text);
    const Result<Code> code = Code::read(text);
    if (!right || !code) continue;
    const std::string wanted = code_.site(site_).text.substr(code_.site(site_).guard.size());
    const auto found = std::ranges::find(code->sites(), wanted, &Site::text);
    if (found == code->sites().end()) return "";
    const std::vector<KnownDefect> known = known_defects(*code);
    const auto is_named = [&](const KnownDefect& one) { return one.row->name == defect; };
    if (!defect.empty() && std::ranges::none_of(known, is_named)) continue;
    const std::optional<Words> wrong = run_minimal(code->changed({whole(*found, instead)}));
    if (!wrong || *wrong == *right) continue;
    const std::size_t at = static_cast<std::size_t>(std::ranges::mismatch(*right, *wrong).in1 - right->begin());
    return fmt::format("// {}\n// The PTX manual: word {} of the output is {:#x}. What ran left {:#x}.\n{}",
                       wanted, at, (*right)[at], (*wrong)[at], text);
  }
  return "";
}

}  // namespace

std::string minimal_module(const Code& code, const Slice& slice, int site, const std::string& instead,
                           std::string_view defect) {
  return slice.store < 0 ? "" : Minimal(code, slice, site).find(instead, defect);
}

}  // namespace warpbit::arbiter
