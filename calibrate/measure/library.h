// A shared library that is looked for at run time, so that one program runs whatever of them a machine has.
#pragma once

#include <string>
#include <vector>

namespace c3sim::measure {

// What all calls of these libraries return where nothing is wrong.
inline constexpr int success = 0;

class Library {
 public:
  // The first of these names that can be loaded, from `folder` where it is not empty, else from wherever the system
  // looks. Empty where there is none.
  static Library find(const std::vector<std::string>& names, const std::vector<std::string>& folders = {});
  // The newest generation that is there of a library of AMD's.
  static Library find_newest(const std::string& name, const std::vector<std::string>& folders);

  Library() = default;
  explicit operator bool() const { return handle_ != nullptr; }
  const std::string& name() const { return name_; }

  // A function, of whatever type of pointer it is given to.
  class Symbol {
   public:
    explicit Symbol(void* address) : address_(address) {}
    explicit operator bool() const { return address_ != nullptr; }
    template <class Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address_);
    }

   private:
    void* address_;
  };
  // The function of that name, or null.
  Symbol look_up(const std::string& function) const;
  // The same; without it GpuError says which library lacks it.
  Symbol need(const std::string& function) const;

 private:
  void* handle_ = nullptr;  // for as long as the program runs: these libraries do not survive being unloaded
  std::string name_;
};

}  // namespace c3sim::measure
