// SPDX-License-Identifier: Apache-2.0
#include "notice/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "notice/mistakes.hpp"
#include "ptx/source.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::noticing {

bool is_wanted(const NoticeOptions& options, std::string_view kind) {
  return options.kinds.empty() || std::ranges::find(options.kinds, kind) != options.kinds.end();
}

bool is_line(const std::string& wanted, const std::string& file, int line) {
  return fmt::format("/{}:{}", file, line).ends_with("/" + wanted);
}

std::string line_of(const SourceLink& at) {
  if (at.line <= 0) return {};
  std::ifstream file(at.file);
  std::string line;
  for (int i = 0; i < at.line; ++i)
    if (!std::getline(file, line)) return {};
  const std::size_t first = line.find_first_not_of(" \t"), last = line.find_last_not_of(" \t\r");
  return first == line.npos ? std::string() : line.substr(first, last - first + 1);
}

std::string flat(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool is_blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!is_blank)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == ';')) out.pop_back();
  return out;
}

namespace {

/// The functions that kernels may call, and these themselves.
std::set<const ptx::FunctionText*> called(const ptx::ModuleText& module, const std::set<std::string>& kernels) {
  std::set<const ptx::FunctionText*> out;
  std::vector<const ptx::FunctionText*> left;
  for (const std::string& name : kernels) left.push_back(module.find(name));
  while (!left.empty()) {
    const ptx::FunctionText* const one = left.back();
    left.pop_back();
    if (one == nullptr || !out.insert(one).second) continue;
    for (const ptx::Operand& operand : one->operands)
      if (operand.kind == ptx::Operand::Kind::function) left.push_back(module.find(operand.text));
  }
  return out;
}

/// The innermost line of a statement in the file of its function's body.
SourceLink own_line(const ptx::ModuleText& module, const ptx::FunctionText& function,
                    const ptx::Statement& statement) {
  const std::vector<SourceLink> chain = ptx::chain_of(module, function, statement);
  SourceLink out;
  for (const SourceLink& one : chain)
    if (one.file == chain.front().file) out = one;
  return out;
}

class Chooser {
 public:
  Chooser(const Seen& seen, const NoticeOptions& options)
      : seen_(seen), options_(options), random_(options.seed) {
    for (const SeenModule& one : seen.modules) {
      Result<edit::Code> code = edit::Code::read(one.text);
      if (!code) continue;  // it was loaded
      codes_.push_back({&one, *std::move(code)});
    }
  }

  Choice choose() {
    for (const Read& one : codes_) {
      add_statements(one);
      add_targets(one);
    }
    for (Candidate& one : candidates_of(seen_.calls, options_, out_)) add(std::move(one));
    for (auto& [kind, all] : by_kind_) std::ranges::shuffle(all, random_);
    take();
    return std::move(out_);
  }

 private:
  struct Read {
    const SeenModule* module;
    edit::Code code;
  };

  // "131" is a line of the PTX, "gemm.cu:40" one of the source, whose path ends so.
  bool is_at_wanted_line(const Read& read, const edit::Site& site) const {
    if (options_.at.empty()) return true;
    const std::string line = std::to_string(site.line);
    const ptx::Statement& statement = site.function->statements[static_cast<std::size_t>(site.index)];
    const std::vector<SourceLink> chain = ptx::chain_of(read.code.module(), *site.function, statement);
    return std::ranges::any_of(options_.at, [&](const std::string& wanted) {
      return wanted == line || std::ranges::any_of(chain, [&](const SourceLink& one) {
               return is_line(wanted, one.file, one.line);
             });
    });
  }

  void add_statements(const Read& read) {
    const std::set<const ptx::FunctionText*> functions = called(read.code.module(), read.module->kernels);
    for (const edit::Site& site : read.code.sites()) {
      const std::string name(site.function->name);
      const auto& wanted = options_.kernels;
      if (!functions.contains(site.function)) continue;
      if (!wanted.empty() && std::ranges::find(wanted, name) == wanted.end()) continue;
      if (!is_at_wanted_line(read, site)) continue;
      const bool is_executed = read.module->lines.contains(site.line);
      ++out_.statements;
      out_.executed += is_executed ? 1 : 0;
      for (const KindRow& row : kind_rows()) {
        if (!is_wanted(options_, row.name)) continue;
        std::vector<Change> changes;
        row.add(read.code, site, changes);
        for (Change& one : changes) add(read, site, row.name, std::move(one), is_executed);
      }
    }
  }

  void add(const Read& read, const edit::Site& site, std::string_view kind, Change change, bool is_executed) {
    if (!known_.insert({&read, change.edit.at, change.edit.length, change.edit.text}).second) return;
    const ptx::ModuleText& module = read.code.module();
    const ptx::Statement& statement = site.function->statements[static_cast<std::size_t>(site.index)];
    Candidate out;
    out.mistake = {std::string(kind),
                   std::move(change.sentence),
                   std::string(site.function->name),
                   read.module->file,
                   site.line,
                   site.text,
                   {},
                   own_line(module, *site.function, statement),
                   {}};
    out.mistake.after = after(site, change.edit);
    out.planted = PlantedMistake{read.module->key, change.edit.at, change.edit.length,
                                 std::move(change.edit.text), read.module->target};
    out.is_executed = is_executed;
    add(std::move(out));
  }

  void add(Candidate one) {
    by_kind_[one.mistake.kind].push_back(std::move(one));
    ++out_.possible;
  }

  // The statement with its guard, as it is then.
  static std::string after(const edit::Site& site, const edit::Edit& change) {
    const std::size_t end = site.at + site.length;
    std::string text = site.guard;
    if (change.at == site.guard_at && change.length == end - change.at)
      text = change.text;
    else if (change.at == site.at)
      text += change.text;
    else
      text = change.text + site.text.substr(site.guard.size()) + ";";
    return flat(text);
  }

  static bool has_products(const Read& read) {
    const std::set<const ptx::FunctionText*> functions = called(read.code.module(), read.module->kernels);
    return std::ranges::any_of(read.code.sites(), [&](const edit::Site& one) {
      return functions.contains(one.function) && one.parts.opcode.find("mma") != std::string_view::npos;
    });
  }

  /// The same code on an earlier and a later generation, whose tensor cores and conversions compute otherwise.
  void add_targets(const Read& read) {
    if (!is_wanted(options_, kTarget) || !options_.kernels.empty() || !options_.at.empty() ||
        !has_products(read))
      return;
    const std::string& text = read.code.text();
    const std::string_view written = read.code.module().target;
    const auto at = static_cast<std::size_t>(written.data() - text.data());
    const int line =
        static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')) + 1;
    for (const std::string target : kGenerations) {
      if (read.module->target.starts_with(target)) continue;
      Candidate out;
      out.mistake.kind = kTarget;
      out.mistake.sentence = "computed as on " + target;
      out.mistake.file = read.module->file;
      out.mistake.line = line;
      out.mistake.before = fmt::format(".target {} on {}", written, read.module->target);
      out.mistake.after = fmt::format(".target {0} on {0}", target);
      out.planted = PlantedMistake{read.module->key, at, written.size(), target, target};
      out.is_executed = true;
      add(std::move(out));
    }
  }

  const Read& read_of(const PlantedMistake& one) const {
    return *std::ranges::find(codes_, one.module, [](const Read& read) { return read.module->key; });
  }

  // One of each kind in turn, of those that can be loaded.
  void take() {
    const std::size_t most = options_.most == 0 ? out_.possible : options_.most;
    std::map<std::string, std::size_t> at;
    for (bool is_any = true; is_any && out_.chosen.size() < most;) {
      is_any = false;
      for (auto& [kind, all] : by_kind_) {
        std::size_t& next = at[kind];
        while (next < all.size() && !can_be_loaded(all[next])) {
          ++next;
          --out_.possible;
        }
        if (next == all.size() || out_.chosen.size() == most) continue;
        Candidate& one = all[next++];
        one.mistake.source_text = line_of(one.mistake.source);
        out_.chosen.push_back(std::move(one));
        is_any = true;
      }
    }
  }

  // Whether nothing is refused that was not refused before.
  bool can_be_loaded(const Candidate& one) const {
    const auto* const planted = std::get_if<PlantedMistake>(&one.planted);
    if (planted == nullptr) return true;  // calls were judged before
    const Read& read = read_of(*planted);
    std::string text = read.code.text();
    text.replace(planted->at, planted->length, planted->text);
    const Result<Target> target = Target::find_ptx(planted->target);
    const Result<ptx::Module> module = target ? ptx::Module::load(std::move(text), *target) : target.error();
    if (!module) return false;
    return std::ranges::all_of(read.module->kernels, [&](const std::string& kernel) {
      return module->function(kernel).operator bool();
    });
  }

  const Seen& seen_;
  const NoticeOptions& options_;
  std::mt19937_64 random_;
  std::vector<Read> codes_;
  std::map<std::string, std::vector<Candidate>> by_kind_;
  std::set<std::tuple<const Read*, std::size_t, std::size_t, std::string>> known_;
  Choice out_;
};

}  // namespace

Choice choose(const Seen& seen, const NoticeOptions& options) {
  return Chooser(seen, options).choose();
}

}  // namespace warpbit::noticing
