// Offers fake GPUs to tests: every call is answered at once, by a clock of its own for each stream, and can be made to
// fail. Their figures are made up, so that tests look at what the program does with them.
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
  bool boards = true;  // boards tell power and clock
  int engines = 0;     // copy engines that can be chosen
  // Is called before each call on a GPU, with the call's name: it may throw, or never come back.
  std::function<void(int gpu, const std::string& call)> before = [](int, const std::string&) {};
  // Returns whether work on the GPU ends.
  std::function<bool(int gpu)> ends = [](int) { return true; };
};

std::unique_ptr<Runtime> open_fake(FakeMachine machine);

}  // namespace c3sim::measure
