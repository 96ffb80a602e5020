#!/usr/bin/python3
"""Makes the pictures of the documents, docs/*.png: charts of the pages that build/release/c3sim leaves.

The ConCCL study gives the fraction of ideal and the speedups, a study of carriers how long a step with experts takes,
one pair with --explain the slowdown by mechanism, the validation its first screen and GEMMs beside RCCL as they were
measured; runs on two and four H200s give theirs, and a fit to collectives of four its residuals.
"""

import base64
import pathlib
import subprocess
import sys
import tempfile

import headless_chromium

ROOT = pathlib.Path(__file__).resolve().parents[1]
WIDTH = 940
SCALE = 2
MARGIN = 10

H200 = "validate/reference/h200x4"

# Each row has a command line, the option for the folder of its page, and the charts with the names of their files.
SOURCES = [
    (["sweep", "configs/studies/conccl.yaml"], "--out",
     [(name, name) for name in ("fraction_of_ideal", "speedup_by_kernels", "speedup_by_copy_engines")]),
    (["validate"], "--report", [("overlap_us", "overlap_us")]),
    (["sweep", "configs/studies/expert_carriers.yaml"], "--out",
     [("time_us_by_batch_mi300x", "experts_mi300x"), ("time_us_by_batch_h100", "experts_h100")]),
    (["c3", "--gemm", "18432x8192x16384", "--collective", "all_to_all", "--bytes", "2560MiB",
      "--strategy", "c3_base,c3_sp,conccl", "--explain"], "--out",
     [("slowdown", "slowdown")]),
    (["validate", f"{H200}/pairs.csv", f"{H200}/dependent.csv", "validate/reference/h200x2/dependent.csv", "--platform",
      "h200"], "--report", [("your_files_us", "h200_predicted")]),
    (["calibrate", f"{H200}/launches.csv", f"{H200}/copies.csv", f"{H200}/collectives.csv", "--platform",
      "h200", "--out", "FITTED"], "--report", [("residuals_5", "h200_residuals")]),
]


def picture(driver, chart, file):
    """Returns the chart with its title, legend and caption, without the table of its numbers."""
    box = driver.execute_script(
        """
        const figure = document.querySelector(`[data-chart=${arguments[0]}]`);
        figure.querySelector('details').hidden = true;
        const {left, top, width, height} = figure.getBoundingClientRect();
        return [left + scrollX, top + scrollY, width, height];
        """, chart)
    x, y, width, height = (round(each) for each in box)
    clip = {"x": x - MARGIN, "y": y - MARGIN, "width": width + 2 * MARGIN, "height": height + 2 * MARGIN, "scale": 1}
    shot = driver.execute_cdp_cmd("Page.captureScreenshot",
                                  {"format": "png", "captureBeyondViewport": True, "clip": clip})
    file.write_bytes(base64.b64decode(shot["data"]))


def main():
    problem = headless_chromium.missing()
    if problem:
        sys.exit(f"error: {problem}")
    with tempfile.TemporaryDirectory() as folder, headless_chromium.browser(WIDTH, 900, SCALE) as driver:
        headless_chromium.set_theme(driver, "light")
        for number, (question, folder_option, charts) in enumerate(SOURCES):
            results = pathlib.Path(folder) / str(number)  # one command does not replace another's
            fitted = f"{folder}/fitted.yaml"
            asked = [fitted if word == "FITTED" else word for word in question]
            done = subprocess.run(["build/release/c3sim", *asked, folder_option, results], cwd=ROOT,
                                  stdout=subprocess.DEVNULL)
            if done.returncode not in (0, 1):  # 1: cases of a validation lie outside their bands
                sys.exit(done.returncode)
            if question == ["validate"]:
                headless_chromium.open_page(driver, results / "page.html")
                driver.save_screenshot(str(ROOT / "docs" / "validation.png"))
                print("docs/validation.png")
            for chart, name in charts:
                headless_chromium.open_page(driver, results / "page.html")
                file = ROOT / "docs" / f"{name}.png"
                picture(driver, chart, file)
                print(file.relative_to(ROOT))


if __name__ == "__main__":
    main()
