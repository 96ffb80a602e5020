// A ConfigError tells the author of a configuration everything that is wrong with it, not only the first fault.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace c3sim::sim {

struct Fault {
  std::string where;     // "platform.yaml:12:9", "--set gpu.sdma.engines=32", or the bare name of an unreadable file
  std::string path;      // "gpu.sdma.engines"; empty for the file as a whole
  std::string what;      // what is wrong, what would be accepted, the nearest known name
  bool is_word = false;  // a word that no platform and no other key could make valid

  bool operator==(const Fault&) const = default;
};

// Returns "where: path: what".
std::string in_words(const Fault& fault);
// Returns these words once for all faults that differ in their places alone, with how many there are; of more than
// ConfigError::max_lines causes it counts the rest.
std::vector<std::string> by_cause(const std::vector<Fault>& faults);

// Signals a mistake of the user, never of the program. what() has one line per fault, in file order, for at most
// max_lines of them; faults() has all.
class ConfigError : public std::runtime_error {
 public:
  static constexpr std::size_t max_lines = 100;

  explicit ConfigError(std::vector<Fault> faults);
  const std::vector<Fault>& faults() const { return faults_; }

 private:
  std::vector<Fault> faults_;
};

}  // namespace c3sim::sim
