#!/usr/bin/python3
"""Makes docs/studies/: for each study of configs/studies/ a page with its chart, its best points, what it says in
sentences and what is known of its inputs. With --check it changes nothing and fails where a page is stale; pictures are
drawn by Chromium, and not compared. Needs the release build.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import headless_chromium
from pictures import SCALE, WIDTH, picture

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "studies"
MOST_ROWS = 16  # in each table of a page
LONGEST = 32  # rows of a summary that a page shows the first of


def written(value):
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)


def markdown(rows, columns):
    lines = ["| " + " | ".join(columns) + " |", "| " + " | ".join("---" for _ in columns) + " |"]
    lines += ["| " + " | ".join(written(row[column]) for column in columns) + " |" for row in rows[:MOST_ROWS]]
    if len(rows) > MOST_ROWS:
        lines.append(f"\n{len(rows) - MOST_ROWS} more are in the table that the command prints.")
    return "\n".join(lines)


def intervals(study):
    """Returns the intervals of the questions that the study's lines `# interval of:` name."""
    rows = []
    for line in study.read_text().splitlines():
        if not line.startswith("# interval of: "):
            continue
        question = line.removeprefix("# interval of: ")
        answer = subprocess.run(["build/release/c3sim", *question.split(), "--uncertainty", "--format", "json"], cwd=ROOT,
                                check=True, capture_output=True).stdout
        for row in json.loads(answer)["results"]:
            time = "makespan" if "makespan_us" in row else "time"
            rows.append({"c3sim": question if time == "time" else f"{question.split(' --strategy')[0]} --strategy {row['strategy']}",
                         "time [us]": row[f"{time}_us"], "5 %": row[f"{time}_p5_us"], "95 %": row[f"{time}_p95_us"]})
    if not rows:
        return ""
    return f"""
How far off predictions may be by what is known of parameters and of the model's errors (`--uncertainty`):

{markdown(rows, list(rows[0]))}
"""


def page(name, answer, drawn):
    about, *sentences = answer["notes"]
    inputs = ""
    if "inputs" in answer:  # some axes are parameters of the platform
        columns = ["parameter", "today", "kind", "range", "asked", "source"]
        if "today" not in answer["inputs"][0]:  # each of several platforms has a column
            columns = list(answer["inputs"][0])
        inputs = f"""
What was varied, and what is known of it today:

{markdown(answer["inputs"], columns)}
"""
    if "best" in answer:
        rows, columns = answer["best"], ["case", "objective", "value", "unit", "choice"]
    else:  # a study without objectives shows the first short one of its summaries, which follow the points
        rows = next(answer[key] for key in list(answer)[list(answer).index("results") + 1:] if len(answer[key]) <= LONGEST)
        columns = list(rows[0])
    command = f"c3sim sweep configs/studies/{name}.yaml --out out/{name}"
    return f"""<!-- made by scripts/studies.py -->
# {about}

`{command}` ([the study](../../configs/studies/{name}.yaml), on `{answer["platform"]}`)

![{about}]({name}.png)

{chr(10).join("- " + sentence for sentence in sentences)}

{markdown(rows, columns)}
{drawn}{inputs}"""


def ask(study, folder):
    subprocess.run(["build/release/c3sim", "sweep", study, "--out", folder], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    return json.loads((folder / "results.json").read_text())


def main():
    check = sys.argv[1:] == ["--check"]
    PAGES.mkdir(exist_ok=True)
    stale = []
    with tempfile.TemporaryDirectory() as temporary:
        made = pathlib.Path(temporary)
        for study in sorted((ROOT / "configs" / "studies").glob("*.yaml")):
            text = page(study.stem, ask(study, made / study.stem), intervals(study))
            file = PAGES / f"{study.stem}.md"
            if check and (not file.exists() or file.read_text() != text):
                stale.append(file)
            elif not check:
                file.write_text(text)
        if check:
            for file in stale:
                print(f"{file.relative_to(ROOT)} is stale: scripts/studies.py makes it anew")
            sys.exit(1 if stale else 0)
        problem = headless_chromium.missing()
        if problem:
            sys.exit(f"error: no pictures: {problem}")
        with headless_chromium.browser(WIDTH, 900, SCALE) as driver:
            headless_chromium.set_theme(driver, "light")
            for folder in sorted(made.iterdir()):
                headless_chromium.open_page(driver, folder / "page.html")
                chart = driver.execute_script("return document.querySelector('[data-chart]').dataset.chart")
                picture(driver, chart, PAGES / f"{folder.name}.png")


if __name__ == "__main__":
    main()
