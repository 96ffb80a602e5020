// GPUs that are not there: every call is answered at once, by a clock of its own for each stream, and can be made to go
// wrong. Their figures are made up, so that tests look at what the program does with them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "calibrate/measure/gpu.h"

namespace c3sim::measure {

struct FakeMachine {
  int gpus = 2;
  std::string name = "Fake GPU";
  std::string driver = "1.0";
  bool boards = true;  // they tell power and clock
  int engines = 0;     // that copy and can be chosen
  // Before each call on a GPU, with the call's name: may throw, or never come back.
  std::function<void(int gpu, const std::string& call)> before = [](int, const std::string&) {};
  // Whether work ends.
  std::function<bool(int gpu)> ends = [](int) { return true; };
};

std::unique_ptr<Runtime> open_fake(FakeMachine machine);

}  // namespace c3sim::measure
