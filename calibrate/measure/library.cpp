#include "calibrate/measure/library.h"

#include <dlfcn.h>

namespace c3sim::measure {

Library Library::find(const std::vector<std::string>& names, const std::vector<std::string>& folders, Fault fault) {
  Library library;
  library.fault_ = fault;
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

Library Library::find_newest(const std::string& name, const std::vector<std::string>& folders, Fault fault) {
  std::vector<std::string> names;
  for (const char* generation : {".7", ".6", ".5", ".1", ".0", ""}) names.push_back(name + generation);
  return find(names, folders, fault);
}

GpuError Library::failed_with_status(const Library&, const std::string& call, int status) {
  return {GpuError::Kind::failed, "{}: status {}", call, status};
}

Library::Symbol Library::look_up(const std::string& function) const {
  return Symbol(handle_ == nullptr ? nullptr : dlsym(handle_, function.c_str()));
}

Library::Symbol Library::need(const std::string& function) const {
  if (handle_ == nullptr) throw GpuError(GpuError::Kind::unsupported, "{} was not found", name_);
  if (const Symbol found = look_up(function)) return found;
  throw GpuError(GpuError::Kind::unsupported, "{} has no {}", name_, function);
}

}  // namespace c3sim::measure
