// c3sim sweep: a study of many points, resumed where it was left.
#pragma once

#include "study/ask/command.h"

namespace c3sim::study {

Command sweep_command();

}  // namespace c3sim::study
