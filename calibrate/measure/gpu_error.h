// What goes wrong on a GPU or in its libraries, told apart by what one does about it.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace c3sim::measure {

class GpuError : public std::runtime_error {
 public:
  enum class Kind {
    unsupported,  // this machine or this library has it not: what asks for it is left out
    failed,       // a call failed; others may work
    hang,         // work on a GPU does not end, so that nothing more can be asked of it
    lost          // a GPU answers no more
  };

  template <class... Parts>
  GpuError(Kind kind, fmt::format_string<Parts...> text, Parts&&... parts)
      : std::runtime_error(fmt::format(text, std::forward<Parts>(parts)...)), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

// What the user can mend: an option, a file, a folder. The program ends with code 2.
class UserError : public std::runtime_error {
 public:
  template <class... Parts>
  explicit UserError(fmt::format_string<Parts...> text, Parts&&... parts)
      : std::runtime_error(fmt::format(text, std::forward<Parts>(parts)...)) {}
};

}  // namespace c3sim::measure
