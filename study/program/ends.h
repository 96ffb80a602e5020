// What a model has before its layers and behind them: embedding, last norm, head, loss; and the gradients of these.
#pragma once

#include "study/program/step_writer.h"

namespace c3sim::study {

void write_embedding(StepWriter& writer);
void write_head(StepWriter& writer);
Written write_head_gradient(StepWriter& writer);  // returns that of the weights
void write_embedding_gradient(StepWriter& writer);

}  // namespace c3sim::study
