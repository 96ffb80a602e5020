// A shared library that is looked for at run time, so that one program runs whatever of them a machine has.
#pragma once

#include <string>
#include <vector>

namespace c3sim::measure {

class Library {
 public:
  // The first of these names that can be loaded, from `folder` where it is not empty, else from wherever the system
  // looks. Empty where there is none.
  static Library find(const std::vector<std::string>& names, const std::vector<std::string>& folders = {});

  Library() = default;
  explicit operator bool() const { return handle_ != nullptr; }
  const std::string& name() const { return name_; }

  // The function of that name, or null.
  template <class Function>
  Function look_up(const char* function) const {
    return reinterpret_cast<Function>(address(function));
  }
  // The same; without it GpuError says which library lacks it.
  template <class Function>
  Function need(const char* function) const {
    return reinterpret_cast<Function>(needed_address(function));
  }

 private:
  void* address(const char* function) const;
  void* needed_address(const char* function) const;

  void* handle_ = nullptr;  // for as long as the program runs: these libraries do not survive being unloaded
  std::string name_;
};

}  // namespace c3sim::measure
