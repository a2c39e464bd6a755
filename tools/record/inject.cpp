// SPDX-License-Identifier: Apache-2.0
// The library that `record` puts into a program: the driver opens it (CUDA_INJECTION64_PATH) and calls InitializeInjection.
// CUPTI then calls it before and behind each call of the driver that loads or launches. The hooks of Python programs call
// the functions warpbit_record_*.
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "cuda_abi.hpp"
#include "recorder.hpp"

using namespace warpbit::record;

namespace {

Recorder& recorder() {  // never destroyed: launches may come until the very end
  static Recorder* const one = [] {
    auto* made = new Recorder;
    made->start();
    return made;
  }();
  return *one;
}

// ---- The end

constexpr int kFatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM};
struct sigaction previous[NSIG];

// What is recorded gets written, then the program dies as it would have.
void on_fatal(int number) {
  recorder().writer.drain(60);
  sigaction(number, &previous[number], nullptr);
  raise(number);
}

pid_t process = 0;

void on_open() {
  for (const int number : kFatal) {
    struct sigaction action {};
    action.sa_handler = on_fatal;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    sigaction(number, nullptr, &previous[number]);
    if (previous[number].sa_handler == SIG_DFL) sigaction(number, &action, nullptr);
  }
}

// ---- Calls of the driver

Image read_file(const char* path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  Image out = read_image(bytes.data(), bytes.size());
  out.file = path;
  return out;
}

// The image that this thread loads, of which a hook may know the PTX.
Image loaded(Image image) {
  ThreadState& thread = this_thread();
  if (!thread.next_ptx.empty())
    recorder().modules.known_ptx(image.hash, std::exchange(thread.next_ptx, {}), thread.next_library);
  return image;
}

void on_load(const WatchedCall& watched, const void* parameters) {
  Modules& modules = recorder().modules;
  const auto& p = *static_cast<const LoadParameters*>(parameters);
  const char* const path = static_cast<const char*>(p.image);
  switch (watched.call) {
    case Call::module_load: return modules.loaded_module(*p.handle, loaded(read_image(p.image)));
    case Call::module_load_file: return modules.loaded_module(*p.handle, read_file(path));
    case Call::library_load: return modules.loaded_library(*p.handle, loaded(read_image(p.image)));
    case Call::library_load_file: return modules.loaded_library(*p.handle, read_file(path));
    case Call::library_kernel: {
      const auto& k = *static_cast<const LibraryKernelParameters*>(parameters);
      return modules.got_kernel(*k.kernel, k.library);
    }
    case Call::unload: return modules.unloaded(*static_cast<void* const*>(parameters));
    case Call::link_add: {
      const auto& l = *static_cast<const LinkAddParameters*>(parameters);
      return modules.link_input(l.state, l.type, l.data, l.size);
    }
    case Call::link_complete: {
      const auto& l = *static_cast<const LinkCompleteParameters*>(parameters);
      return modules.link_output(l.state, *l.cubin, *l.size);
    }
    default: return;
  }
}

Launch launch_of(const WatchedCall& watched, const CallbackData& data) {
  Launch out;
  out.symbol = data.symbol;
  if (watched.call == Call::launch_ex) {
    const auto& p = *static_cast<const LaunchExParameters*>(data.parameters);
    const LaunchConfig& c = *p.config;
    out.handle = p.function;
    std::copy_n(c.grid, 3, out.grid);
    std::copy_n(c.block, 3, out.block);
    out.shared = c.shared;
    out.stream = c.stream;
    out.parameters = p.parameters;
    out.extra = p.extra;
    out.config = &c;
    for (unsigned i = 0; i < c.count; ++i) {
      if (c.attributes[i].id == kClusterDimension) std::copy_n(c.attributes[i].cluster, 3, out.cluster);
      if (c.attributes[i].id == kCooperative) out.is_cooperative = c.attributes[i].cooperative != 0;
    }
    return out;
  }
  const auto& p = *static_cast<const LaunchParameters*>(data.parameters);
  out.handle = p.function;
  std::copy_n(p.grid, 3, out.grid);
  std::copy_n(p.block, 3, out.block);
  out.shared = p.shared;
  out.stream = p.stream;
  out.parameters = p.parameters;
  out.is_cooperative = watched.call == Call::launch_cooperative;
  if (!out.is_cooperative) out.extra = p.extra;
  return out;
}

void on_launch(const WatchedCall& watched, const CallbackData& data) {
  static thread_local int recorded = 0;
  if (watched.call == Call::graph_launch) {
    if (data.site == 0 && this_thread().inside == 0)
      recorder().writer.left_out("launches of whole CUDA graphs, whose kernels the recorder does not see");
    return;
  }
  if (data.site == 0) {
    if (recorded == 0) recorded = recorder().before(launch_of(watched, data)) ? 1 : 0;
  } else if (recorded == 1 && this_thread().inside == 0) {
    recorded = 0;
    recorder().after(launch_of(watched, data), *static_cast<const int*>(data.result));
  }
}

void on_copy(const WatchedCall& watched, const CallbackData& data) {
  Recorder& r = recorder();
  if (this_thread().inside > 0 || this_thread().paused > 0 || data.site != 0) return;
  const Inside inside(r.driver);
  JsonObject members;
  if (watched.call == Call::copy_in || watched.call == Call::copy) {
    const auto& p = *static_cast<const CopyParameters*>(data.parameters);
    const Memory memory(r.driver);
    if (memory.is_of_host(p.to) || p.bytes == 0) return;
    if (watched.call == Call::copy && !memory.is_of_host(p.from)) {
      members.add("from", quoted_address(p.from)).add("what", "\"device to device\"");
    } else {
      if (!r.has_room(p.bytes)) return;
      if (!r.open()) return;
      members.add("data", quoted(r.writer.data(reinterpret_cast<const void*>(p.from), p.bytes)));
      members.add("what", "\"host to device\"");
    }
    r.copied(p.to, p.bytes, members.str(), watched.has_stream ? p.stream : nullptr);
    return;
  }
  const auto& p = *static_cast<const FillParameters*>(data.parameters);
  const std::size_t width = watched.call == Call::fill8 ? 1 : watched.call == Call::fill16 ? 2 : 4;
  if (p.count == 0 || !r.has_room(p.count * width) || !r.open()) return;
  std::string bytes(p.count * width, '\0');
  for (std::size_t i = 0; i < bytes.size(); i += width) std::memcpy(&bytes[i], &p.value, width);
  members.add("data", quoted(r.writer.data(bytes.data(), bytes.size()))).add("what", "\"fill\"");
  r.copied(p.to, bytes.size(), members.str(), watched.has_stream ? p.stream : nullptr);
}

void callback(void*, int domain, std::uint32_t id, const void* raw) {
  const auto& data = *static_cast<const CallbackData*>(raw);
  if (domain != kDriverCalls) return;
  for (const WatchedCall& watched : kLaunches)
    if (watched.id == id) return on_launch(watched, data);
  for (const WatchedCall& watched : kLoads)
    if (watched.id == id) {
      const bool is_unload = watched.call == Call::unload || watched.call == Call::link_add;
      const bool worked = data.site == 1 && *static_cast<const int*>(data.result) == 0;
      if (is_unload ? data.site == 0 : worked) on_load(watched, data.parameters);
      return;
    }
  for (const WatchedCall& watched : kCopies)
    if (watched.id == id) return on_copy(watched, data);
}

template <std::size_t N>
bool enable(const Cupti& cupti, const WatchedCall (&calls)[N]) {
  bool out = true;
  for (const WatchedCall& watched : calls)
    out = cupti.enable(1, cupti.subscriber, kDriverCalls, watched.id) == 0 && out;
  return out;
}

}  // namespace

extern "C" {

#define WARPBIT_EXPORT __attribute__((visibility("default")))

WARPBIT_EXPORT int InitializeInjection() {
  static Cupti* const cupti = new Cupti;
  if (cupti->subscriber != nullptr) return 1;
  Recorder& r = recorder();
  r.on_open = on_open;
  process = getpid();
  std::atexit([] { recorder().ended(process); });
  std::at_quick_exit([] { recorder().ended(process); });
  const char* failure = nullptr;
  if (!r.driver.open()) failure = "the driver has too few functions";
  if (failure == nullptr && !cupti->open(environment("CUPTI").c_str()))
    failure = "libcupti.so is not found (--cupti FILE)";
  if (failure == nullptr && cupti->subscribe(&cupti->subscriber, callback, nullptr) != 0)
    failure = "another tool uses CUPTI in this program";
  const bool sees_launches = r.options.has_kernels || r.options.has_products;  // else nothing is watched
  bool is_enabled =
      failure == nullptr && (!sees_launches || (enable(*cupti, kLoads) && enable(*cupti, kLaunches)));
  if (is_enabled && r.options.copies) is_enabled = enable(*cupti, kCopies);
  if (failure == nullptr && !is_enabled) failure = "this CUPTI lacks some of the calls";
  if (failure != nullptr) std::fprintf(stderr, "warpbit record: %s\n", failure);
  return 1;
}

// ---- For the hooks of Python programs

/// Whether a launch of this kernel would be recorded.
WARPBIT_EXPORT int warpbit_record_wants(void* function) {
  return recorder().wants(function);
}

/// Memory that the next launches of this thread can reach: pairs of an address and a number of bytes. 0 pairs: no longer.
WARPBIT_EXPORT void warpbit_record_hint(const std::uint64_t* pairs, const char* const* names, int count,
                                        const char* where, const char* library) {
  ThreadState& thread = this_thread();
  thread.hints.clear();
  for (int i = 0; i < count; ++i)
    thread.hints.push_back({pairs[2 * i], static_cast<std::size_t>(pairs[2 * i + 1]),
                            names != nullptr && names[i] != nullptr ? names[i] : "", false, 0});
  thread.where = where != nullptr ? where : "";
  thread.library = library != nullptr ? library : "";
}

/// 1: launches of this thread are not recorded until as many calls with -1 have come.
WARPBIT_EXPORT void warpbit_record_pause(int step) {
  this_thread().paused += step;
}

WARPBIT_EXPORT void warpbit_record_ptx(const void* program, std::size_t size, const char* text,
                                       std::size_t length, const char* library) {
  recorder().modules.known_ptx(read_image(program, size).hash, std::string(text, length),
                               library != nullptr ? library : "");
}

/// The PTX of the image that this thread loads next, whatever its bytes are; an empty one: nobody knows.
WARPBIT_EXPORT void warpbit_record_next_ptx(const char* text, std::size_t length, const char* library) {
  this_thread().next_ptx.assign(text, length);
  this_thread().next_library = library;
}

/// The name of the data file of GPU memory; empty if it cannot be read.
WARPBIT_EXPORT const char* warpbit_record_take(std::uint64_t address, std::uint64_t bytes, int is_kept) {
  std::string& answer = this_thread().answer;
  answer = recorder().take(address, bytes, is_kept != 0);
  return answer.c_str();
}

WARPBIT_EXPORT int warpbit_record_room(std::uint64_t bytes) {
  return recorder().has_room(bytes);
}

/// From now on the kernels that this thread launches are collected, and not recorded as launches.
WARPBIT_EXPORT void warpbit_record_collect() {
  this_thread().is_collecting = true;
  this_thread().collected = {};
}
WARPBIT_EXPORT const char* warpbit_record_collected() {
  ThreadState& thread = this_thread();
  thread.is_collecting = false;
  thread.answer = thread.collected.str();
  return thread.answer.c_str();
}

WARPBIT_EXPORT void warpbit_record_product(const char* op, const char* members) {
  recorder().product(op, members);
}
WARPBIT_EXPORT void warpbit_record_left_out(const char* why) {
  recorder().writer.left_out(why);
}
WARPBIT_EXPORT void warpbit_record_blocks(FindBlock* find) {
  recorder().find_block = find;
}
WARPBIT_EXPORT void warpbit_record_flush() {
  recorder().writer.drain(600);
}

}  // extern "C"
