// A validation as a page: every suite in a chart, every case in a table.
#pragma once

#include <string>

#include "study/report/page.h"
#include "validate/report.h"

namespace c3sim::validate {

// `version` is that of c3sim; `results` is the report of the validation.
study::Page page_of(const Validation& validation, const study::Results& results, const std::string& version);

}  // namespace c3sim::validate
