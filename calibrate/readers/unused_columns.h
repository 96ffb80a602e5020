// Columns of a table that its form does not read: "Nothing is guessed" would be untrue if one of them, misspelt,
// changed what was run in silence.
#pragma once

#include "calibrate/readers/measurement.h"
#include "calibrate/readers/roles.h"
#include "calibrate/readers/table_format.h"
#include "sim/config/csv_file.h"

namespace c3sim::calibrate {

// Names, with place and nearest known name, every column of the table that is not used: as a remark of the reading, and
// as a fault where the nearest is a column that says what was run or how (`channel` for `channels`). Rows in which such
// a column says something are left out then, since without it they would be read as something else. Silent are the
// columns that the form lists under `ignored`, those that a list of roles asks for, `note`, `comment`, `host` and their
// like, and, of a form that is made for one table, all others of the table of its name.
void tell_unused_columns(Reading& reading, const sim::CsvFile& table, const TableFormat& form, const Roles& roles);

}  // namespace c3sim::calibrate
