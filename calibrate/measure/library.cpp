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

Library Library::find_newest(const std::string& name, const std::vector<std::string>& folders) {
  std::vector<std::string> names;
  for (const char* generation : {".7", ".6", ".5", ".1", ".0", ""}) names.push_back(name + generation);
  return find(names, folders);
}

Library::Symbol Library::look_up(const std::string& function) const {
  return Symbol(handle_ == nullptr ? nullptr : dlsym(handle_, function.c_str()));
}

Library::Symbol Library::need(const std::string& function) const {
  void* const found = handle_ == nullptr ? nullptr : dlsym(handle_, function.c_str());
  if (found != nullptr) return Symbol(found);
  throw GpuError(GpuError::Kind::unsupported, handle_ == nullptr ? fmt::format("{} was not found", name_)
                                                                 : fmt::format("{} has no {}", name_, function));
}

}  // namespace c3sim::measure
