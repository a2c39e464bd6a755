// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace bench {
namespace {

// "-" for what does not apply.
std::string cell(const std::optional<double>& number, int digits) {
  return number ? fmt::format("{:.{}f}", *number, digits) : "-";
}

std::string limit_of(const Line& l) {
  if (!l.limit) return "-";
  return fmt::format("{:.10g}{}{}", *l.limit, l.ratio ? "" : " ns",
                     l.ratio.value_or(l.ns) <= *l.limit ? "" : " OVER");
}

std::string speedup_limit_of(const Line& l) {
  if (!l.speedup_limit) return "-";
  return fmt::format("{:g}{}", *l.speedup_limit, *l.speedup < *l.speedup_limit ? " UNDER" : "");
}

// What the ratio is to.
std::string_view by(const Line& l) {
  if (!l.rate) return "-";
  if (l.by_ordinary) return "ordinary";
  return l.plain() == l.by_gemm ? "gemm" : l.plain() == l.by_hand ? "hand" : "Eigen";
}

double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::ranges::nth_element(numbers, middle);
  return *middle;
}

constexpr std::string_view kFormat = "{:<46} {:<7} {:>12} {:>9} {:>9}  {:<8} {:>9} {:>12} {:>12}\n";

}  // namespace

Collector::Collector() {
  json_.SetOutputStream(&text_);
  json_.SetErrorStream(&text_);
}

bool Collector::ReportContext(const Context& context) {
  return json_.ReportContext(context);
}

void Collector::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    if (run.run_type != Run::RT_Iteration) continue;
    const bool by_clock = !run.run_name.time_type.empty();
    const double seconds = by_clock ? run.real_accumulated_time : run.cpu_accumulated_time;
    samples_[run.run_name.function_name].push_back(seconds * 1e9 / static_cast<double>(run.iterations));
  }
  json_.ReportRuns(runs);
}

Line line(const Entry& entry, const Samples& samples) {
  const auto ns = [&](const std::string& benchmark, double tiles) {
    return median(samples.at(benchmark)) / tiles;
  };
  Line out{.work = name(*entry.row), .kernel = entry.kernel, .error = entry.error};
  if (!out.error.empty()) return out;
  out.ns = ns(entry.measured, entry.tiles);
  const Row* const plain_values = ordinary(*entry.row);
  if (plain_values != nullptr && samples.contains(name(*plain_values)))
    out.by_ordinary = out.ns / ns(name(*plain_values), entry.tiles);
  if (entry.row->limit > 0) out.limit = entry.row->limit;
  if (entry.row->speedup > 0) out.speedup_limit = entry.row->speedup;
  if (entry.shape) {
    const double macs = multiplications(*entry.shape);
    out.rate = macs / out.ns;
    const auto rate = [&](const std::string& benchmark) {
      return benchmark.empty() ? std::nullopt : std::optional(macs / ns(benchmark, entry.tiles_of_product));
    };
    out.by_hand = rate(entry.by_hand), out.by_eigen = rate(entry.by_eigen), out.by_gemm = rate(entry.by_gemm);
    out.ratio = out.by_ordinary ? *out.by_ordinary : out.plain() / *out.rate;
    if (!entry.other.empty()) {
      const double other = ns(entry.other, entry.tiles_of_other);
      if (entry.row->kind == Kind::gemm)
        out.speedup = other / out.ns;
      else
        out.ratio_all_threads = out.plain() * other / macs;
    }
  }
  out.within = (!out.limit || out.ratio.value_or(out.ns) <= *out.limit) &&
               (!out.speedup_limit || *out.speedup >= *out.speedup_limit);
  return out;
}

std::string table(const std::vector<Line>& lines, std::string_view extension, int threads) {
  std::string out = fmt::format(kFormat, "", "", "", "", "plain", "", "", "", "ratio on") +
                    fmt::format(kFormat, "work", "kernel", "ns a tile", "MAC/ns", "MAC/ns", "by", "ratio",
                                "limit", fmt::format("{} threads", threads));
  for (const Line& l : lines)
    if (!l.error.empty())
      out += fmt::format("{:<46} {}\n", l.work, l.error);
    else
      out += fmt::format(kFormat, l.work, l.kernel, cell(l.ns, 1), cell(l.rate, 2),
                         cell(l.rate ? std::optional(l.plain()) : std::nullopt, 1), by(l), cell(l.ratio, 2),
                         limit_of(l), cell(l.ratio_all_threads, 2));
  for (const Line& l : lines)
    if (l.speedup)
      out += fmt::format("{}: {:.2f} times as fast as on one; limit {}\n", l.work, *l.speedup,
                         speedup_limit_of(l));
  return out +
         fmt::format("Medians. Plain products on one thread, compiled for {}; gemm is gemm().\n", extension);
}

std::string with_rows(const std::string& json, const std::vector<Line>& lines, std::string_view extension) {
  nlohmann::json out = nlohmann::json::parse(json);
  out["plain_extension"] = extension;
  out["rows"] = nlohmann::json::array();
  for (const Line& l : lines) {
    nlohmann::json row{{"work", l.work}};
    const auto set = [&](const char* key, const std::optional<double>& number) {
      if (number) row[key] = *number;
    };
    if (!l.error.empty()) {
      row["error"] = l.error;
    } else {
      row["kernel"] = l.kernel;
      set("ns_per_tile", l.ns);
      set("mac_per_ns", l.rate);
      set("plain_by_hand_mac_per_ns", l.by_hand);
      set("plain_by_eigen_mac_per_ns", l.by_eigen);
      set("gemm_mac_per_ns", l.by_gemm);
      set("ratio", l.ratio);
      set("ratio_all_threads", l.ratio_all_threads);
      set("limit", l.limit);
      set("speedup", l.speedup);
      set("speedup_limit", l.speedup_limit);
      if (l.limit) row["within_limits"] = l.within;
    }
    out["rows"].push_back(std::move(row));
  }
  return out.dump(2) + "\n";
}

}  // namespace bench
