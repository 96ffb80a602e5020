// Writes what a model has before and after its layers: embedding, last norm, head, loss, and their gradients.
#pragma once

#include "study/program/step_writer.h"

namespace c3sim::study {

void write_embedding(StepWriter& writer);
void write_head(StepWriter& writer);
Written write_head_gradient(StepWriter& writer);  // returns the gradient of the weights
void write_embedding_gradient(StepWriter& writer);

}  // namespace c3sim::study
