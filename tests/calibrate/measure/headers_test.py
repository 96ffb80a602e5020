"""Holds the calls that c3sim-measure declares itself against the headers of CUDA and HIP, where those are installed.

headers_test.py COMPILER SOURCES: every row of gpu_calls.h has to pass as many arguments as the header's function takes,
pointers for pointers and numbers for numbers of that size. Exits with 77 where neither vendor's header is found.
"""

import pathlib
import re
import subprocess
import sys

COMPARE = """
#include "calibrate/measure/backends/gpu_calls.h"
#include <type_traits>
// CUDA's addresses on the device are numbers. Integers may be wider than needed: whoever is called looks at its own part.
template <class T> constexpr bool address = std::is_pointer_v<T> || std::is_same_v<T, unsigned long long>;
template <class Ours, class Theirs> constexpr bool passes = std::is_pointer_v<Ours> ? address<Theirs>
    : std::is_pointer_v<Theirs> ? sizeof(Ours) == 8 && std::is_enum_v<Ours> : sizeof(Ours) >= sizeof(Theirs);
template <class Ours, class Theirs> constexpr bool fits = false;
template <class... Ours, class... Theirs, class Result>
constexpr bool fits<c3sim::measure::GpuCalls::Call<Ours...>, Result (*)(Theirs...)> = [] {
  if constexpr (sizeof...(Ours) == sizeof...(Theirs)) return sizeof(Result) == 4 && (passes<Ours, Theirs> && ...);
  return false;
}();
"""
# By number of the vendor in a row: its header, and where that may lie.
HEADERS = [("#include <cuda.h>", "/usr/local/cuda/include", "cuda.h"),
           ("#define __HIP_PLATFORM_AMD__\n#define __HIP_DISABLE_CPP_FUNCTIONS__\n#include <hip/hip_runtime_api.h>", "/opt/rocm/include", "hip/hip_runtime_api.h")]
ROW = re.compile(r'Call<([^;]*?)>\s+(\w+)\{\*this,\s*(nullptr|"\w+"),\s*(nullptr|"\w+")\};')


def main():
    compiler, sources = sys.argv[1], pathlib.Path(sys.argv[2])
    rows = ROW.findall((sources / "calibrate/measure/backends/gpu_calls.h").read_text())
    assert len(rows) > 30, "the rows of gpu_calls.h are read"
    held = 0
    for vendor, (include, folder, header) in enumerate(HEADERS):
        if not any((pathlib.Path(place) / header).exists() for place in (folder, "/usr/include")):
            continue
        calls = [(row[1], row[2 + vendor].strip('"')) for row in rows if row[2 + vendor] != "nullptr"]
        held += len(calls)
        lines = [f"static_assert(fits<decltype(c3sim::measure::GpuCalls::{own}), "
                 f"decltype(&{name})>);" for own, name in calls]
        subprocess.run([compiler, "-std=c++20", "-fsyntax-only", f"-I{sources}", f"-isystem{folder}", "-xc++", "-"],
                       input="\n".join([include, COMPARE, *lines]), text=True, check=True)
    print(f"{held} calls are as the headers have them")
    return 0 if held else 77


sys.exit(main())
