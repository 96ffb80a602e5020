#include "calibrate/measure/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "calibrate/measure/gpu_error.h"

namespace c3sim::measure {

Library Library::find(const std::vector<std::string>& names, const std::vector<std::string>& folders) {
  Library library;
  std::vector<std::string> candidates;
  for (const std::string& folder : folders) {
    for (const std::string& name : names) candidates.push_back(std::string(folder).append("/").append(name));
  }
  candidates.insert(candidates.end(), names.begin(), names.end());
  for (const std::string& candidate : candidates) {
    library.handle_ = dlopen(candidate.c_str(), RTLD_NOW | RTLD_GLOBAL);
    library.name_ = candidate;
    if (library) return library;
  }
  library.name_ = names.front();
  return library;
}

void* Library::address(const char* function) const { return handle_ == nullptr ? nullptr : dlsym(handle_, function); }

void* Library::needed_address(const char* function) const {
  void* const found = address(function);
  if (found != nullptr) return found;
  throw GpuError(GpuError::Kind::unsupported, handle_ == nullptr ? fmt::format("{} was not found", name_)
                                                                 : fmt::format("{} has no {}", name_, function));
}

}  // namespace c3sim::measure
