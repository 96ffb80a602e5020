// How far a session is: a bar that is drawn over and over on a terminal, a line now and then elsewhere.
#pragma once

#include <chrono>
#include <ostream>
#include <string>
#include <string_view>

namespace c3sim::measure {

class Progress {
 public:
  // `seconds`: what all that is to do may take, roughly.
  Progress(std::ostream& out, bool terminal, std::size_t items, double seconds);

  void begin(std::string_view kind, const std::string& item);
  void end(double seconds);  // that the item was thought to take
  // A line that stays.
  void say(const std::string& line);
  void close();

 private:
  void draw();
  double left() const;

  std::ostream& out_;
  bool terminal_;
  std::size_t items_;
  std::size_t done_ = 0;
  double planned_, planned_done_ = 0.0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::string kind_, item_;
  bool drawn_ = false;
};

}  // namespace c3sim::measure
