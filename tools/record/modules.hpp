// SPDX-License-Identifier: Apache-2.0
// What the program has loaded, and for each kernel that it launches its PTX, or the reason why there is none.
#pragma once

#include <cxxabi.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cuda_abi.hpp"
#include "images.hpp"
#include "options.hpp"

namespace warpbit::record {

inline std::string demangled(const std::string& name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string out = status == 0 && text != nullptr ? text : name;
  std::free(text);
  return out;
}

/// A module's PTX, shared by its kernels.
struct Ptx {
  std::string text, library;
  std::vector<std::string> variables;
  bool has_side_effects = false;
};

/// A kernel, as launches name it.
struct Function {
  std::string entry;
  void* module = nullptr;
  std::vector<std::size_t> offsets, sizes;  // of the parameters
  std::shared_ptr<const Ptx> ptx;
  std::string reason;  // why there is no PTX
  std::atomic<bool> is_wanted{false};
  std::atomic<std::uint64_t> launches{0};
  std::string code;  // what counts as one code
};

class Modules {
 public:
  Modules(const Driver& driver, const Options& options) : driver_(driver), options_(options) {
    if (!options.kernels.empty()) try {
        chosen_.emplace(options.kernels, std::regex::ECMAScript | std::regex::optimize);
      } catch (const std::regex_error&) {
        std::fprintf(stderr, "warpbit record: not a regular expression, nothing is recorded: %s\n",
                     options.kernels.c_str());
        chosen_.emplace("$^");
      }
  }

  bool is_chosen(const std::string& entry) const {
    return !chosen_ || std::regex_search(entry, *chosen_) || std::regex_search(demangled(entry), *chosen_);
  }

  // ---- What the callbacks tell

  void loaded_module(void* module, Image image) {
    const std::lock_guard lock(mutex_);
    modules_[module] = keep(std::move(image));
  }
  void loaded_library(void* library, Image image) {
    const std::lock_guard lock(mutex_);
    libraries_[library] = keep(std::move(image));
  }
  void got_kernel(void* kernel, void* library) {
    const std::lock_guard lock(mutex_);
    kernels_[kernel] = library;
  }
  /// Handles may come again for other things.
  void unloaded(void* handle) {
    const std::lock_guard lock(mutex_);
    modules_.erase(handle);
    libraries_.erase(handle);
    for (auto at = kernels_.begin(); at != kernels_.end();)
      at = at->second == handle ? kernels_.erase(at) : std::next(at);
    functions_.clear();
  }

  /// PTX that somebody knows for a machine program.
  void known_ptx(Hash program, std::string text, std::string library) {
    const std::lock_guard lock(mutex_);
    if (options_.debug) std::fprintf(stderr, "warpbit record: PTX for %s\n", hex_of(program).c_str());
    known_[program] = {std::move(text), std::move(library)};
    functions_.clear();
  }
  void link_input(void* state, int type, const void* data, std::size_t size) {
    const std::lock_guard lock(mutex_);
    links_[state].push_back(ptx_of_input(type, static_cast<const char*>(data), size));
  }
  void link_output(void* state, const void* program, std::size_t size) {
    std::vector<std::string> inputs;
    {
      const std::lock_guard lock(mutex_);
      inputs = std::move(links_[state]);
      links_.erase(state);
    }
    if (inputs.size() == 1 && !inputs[0].empty()) known_ptx(read_image(program, size).hash, inputs[0], "");
  }

  // ---- What a launch asks

  std::shared_ptr<Function> find(void* handle, const char* symbol) {
    const std::lock_guard lock(mutex_);
    const auto found = functions_.find(handle);
    if (found != functions_.end()) return found->second;
    const std::shared_ptr<Function> made = make(handle, symbol);
    functions_.emplace(handle, made);
    return made;
  }

  /// Counts a launch of a code; false if as many as asked for have been.
  bool counts(const Function& function) {
    const std::lock_guard lock(mutex_);
    return ++counts_[function.code] <= options_.first || options_.first == 0;
  }

 private:
  struct Known {
    std::string text, library;
  };
  using ImagePointer = std::shared_ptr<const Image>;

  // The PTX of what is linked; empty if nobody knows it. 1: PTX.
  std::string ptx_of_input(int type, const char* data, std::size_t size) const {
    if (std::string_view(data, std::min<std::size_t>(size, 4)) ==
        "\x7f"
        "ELF") {
      const auto found = known_.find(read_image(data, size).hash);
      return found == known_.end() ? std::string() : found->second.text;
    }
    return type == 1 ? std::string(data, strnlen(data, size)) : std::string();
  }

  ImagePointer keep(Image image) {
    const auto kept = std::make_shared<const Image>(std::move(image));
    images_.push_back(kept);
    return kept;
  }

  std::shared_ptr<Function> make(void* handle, const char* symbol) {
    auto out = std::make_shared<Function>();
    const char* name = nullptr;
    const bool is_kernel = kernels_.count(handle) != 0;
    if (is_kernel && driver_.kernel_name != nullptr) driver_.kernel_name(&name, handle);
    if (name == nullptr && symbol != nullptr) name = symbol;
    if (name == nullptr && driver_.function_name != nullptr) driver_.function_name(&name, handle);
    out->entry = name != nullptr ? name : "";
    out->is_wanted = is_chosen(out->entry);
    if (!out->is_wanted) return out;
    auto* const info = is_kernel ? driver_.kernel_parameter : driver_.function_parameter;
    std::size_t offset = 0, size = 0;
    for (std::size_t i = 0; info != nullptr && info(handle, i, &offset, &size) == 0; ++i) {
      out->offsets.push_back(offset);
      out->sizes.push_back(size);
    }
    const ImagePointer image = image_of(handle, is_kernel, *out);
    if (image != nullptr) choose_ptx(*image, *out);
    if (image == nullptr) out->reason = "its module was loaded in a way that the recorder does not see";
    out->code =
        std::to_string(reinterpret_cast<std::uintptr_t>(out->ptx ? static_cast<const void*>(out->ptx.get())
                                                                 : static_cast<const void*>(image.get()))) +
        ":" + out->entry;
    if (options_.debug)
      std::fprintf(stderr, "warpbit record: %s%s: %zu parameters, %s\n", is_kernel ? "kernel " : "",
                   out->entry.c_str(), out->sizes.size(),
                   out->ptx ? "has PTX" : (out->reason + ", " + hex_of(image ? image->hash : Hash{})).c_str());
    return out;
  }

  ImagePointer image_of(void* handle, bool is_kernel, Function& out) {
    void* function = handle;
    if (is_kernel && (driver_.kernel_function == nullptr || driver_.kernel_function(&function, handle) != 0))
      function = nullptr;
    if (function != nullptr && driver_.function_module != nullptr)
      driver_.function_module(&out.module, function);
    if (is_kernel) {
      const auto library = libraries_.find(kernels_[handle]);
      if (library != libraries_.end()) return library->second;
    }
    const auto module = modules_.find(out.module);
    if (out.module != nullptr && module != modules_.end()) return module->second;
    for (const auto& [library, image] : libraries_) {
      void* other = nullptr;
      if (out.module != nullptr && driver_.library_module != nullptr &&
          driver_.library_module(&other, library) == 0 && other == out.module)
        return modules_[out.module] = image;
    }
    return only_one_with(out.entry);
  }

  // The image whose PTX has the entry, if there is one and only one.
  ImagePointer only_one_with(const std::string& entry) {
    ImagePointer out;
    for (const ImagePointer& image : images_)
      for (const PackedPtx& ptx : image->ptx) {
        const std::optional<std::string> text = text_of(ptx);
        if (!text || !has_entry(*text, entry) || out == image) continue;
        if (out != nullptr) return nullptr;
        out = image;
      }
    return out;
  }

  void choose_ptx(const Image& image, Function& out) {
    const auto known = known_.find(image.hash);
    std::optional<std::string> text;
    if (image.is_text) {
      text = text_of(image.ptx[0]);
    } else if (known != known_.end() && image.ptx.empty()) {
      text = known->second.text;
    } else if (image.ptx.empty() && !image.file.empty()) {
      text = beside(image.file);
    } else if (image.ptx.empty()) {
      out.reason = "the module has no PTX";
    } else {
      text = of_container(image, out);
    }
    if (!text) {
      if (out.reason.empty()) out.reason = "the module has no PTX";
      return;
    }
    std::shared_ptr<Ptx>& ptx = texts_[hash_of(text->data(), text->size())];
    if (ptx == nullptr) {
      ptx = std::make_shared<Ptx>();
      ptx->variables = variables_of(*text);
      ptx->has_side_effects = has_side_effects(*text);
      ptx->text = std::move(*text);
      if (known != known_.end()) ptx->library = known->second.library;
    }
    out.ptx = ptx;
  }

  // Triton and Inductor leave NAME.ptx where NAME.cubin is.
  static std::optional<std::string> beside(const std::string& file) {
    std::ifstream in(file.substr(0, file.find_last_of('.')) + ".ptx", std::ios::binary);
    if (!in) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(in), {});
  }

  int capability() const {
    int device = 0, major = 0, minor = 0;
    driver_.context_device(&device);
    driver_.device_attribute(&major, kMajor, device);
    driver_.device_attribute(&minor, kMinor, device);
    return 10 * major + minor;
  }

  // As the driver chooses: machine code of the device's generation, if there is any, and the newest, else the newest PTX.
  // PTX counts if it is that which the machine code was made of.
  std::optional<std::string> of_container(const Image& image, Function& out) const {
    const auto device = static_cast<unsigned>(capability());
    const auto runs = [&](unsigned architecture, bool is_specific) {
      return is_specific ? architecture == device : architecture <= device;
    };
    const MachineProgram* program = nullptr;
    for (const MachineProgram& p : image.programs)
      if (p.architecture / 10 == device / 10 && runs(p.architecture, p.is_specific) &&
          (program == nullptr || p.architecture > program->architecture ||
           (p.architecture == program->architecture && p.is_specific)))
        program = &p;
    std::optional<std::string> best;
    unsigned rank = 0, other = 0;
    bool is_packed = false;
    for (const PackedPtx& p : image.ptx) {
      if (!runs(p.architecture, p.is_specific)) continue;
      std::optional<std::string> text = text_of(p);
      is_packed = is_packed || !text;
      if (!text || !has_entry(*text, out.entry)) continue;
      other = p.architecture;
      if (program != nullptr &&
          (p.architecture != program->architecture || p.is_specific != program->is_specific))
        continue;
      if (const unsigned mine = 2 * p.architecture + p.is_specific; mine > rank) {
        rank = mine;
        best = std::move(text);
      }
    }
    if (best) return best;
    out.reason = is_packed ? "its PTX is packed in a way that needs libzstd.so.1, which is not here"
                 : other == 0
                     ? "the module has no PTX of it"
                     : "its machine code is for sm_" + std::to_string(program->architecture) +
                           (program->is_specific ? "a" : "") + ", its PTX for compute_" + std::to_string(other);
    return std::nullopt;
  }

  const Driver& driver_;
  const Options& options_;
  std::optional<std::regex> chosen_;
  std::recursive_mutex mutex_;  // what the driver is asked may make it load, which is told here
  std::vector<ImagePointer> images_;
  std::unordered_map<void*, ImagePointer> modules_, libraries_;
  std::unordered_map<void*, void*> kernels_;
  std::unordered_map<void*, std::shared_ptr<Function>> functions_;
  std::map<Hash, Known> known_;
  std::map<Hash, std::shared_ptr<Ptx>> texts_;
  std::map<void*, std::vector<std::string>> links_;
  std::map<std::string, std::uint64_t> counts_;
};

}  // namespace warpbit::record
