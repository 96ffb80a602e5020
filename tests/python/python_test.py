#!/usr/bin/env python3
"""python_test.py PROGRAM: the module says what the program says, to threads and to those who interrupt it as well."""
import concurrent.futures
import inspect
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
from pathlib import Path
from unittest import mock

import c3sim

PROGRAM = sys.argv.pop(1)
ROOT = Path(__file__).resolve().parents[2]
FEW_REQUESTS = """name: few
model: llama3-8b
requests: 4
prompt: 64
output: 4
rate: 8
"""
PAIR = dict(gemm="8192x57344x8192", collective="all_gather", bytes="896MiB")


def command(*words):
    """What the program makes of it: its exit code, what it prints and what it says of faults."""
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def told(error):
    """Without the line that names --help."""
    return "".join(line for line in error.splitlines(True) if not line.startswith("`c3sim --help`"))


class Answers(unittest.TestCase):
    def same(self, rows, *words):
        code, out, _ = command(*words, "--format", "json")
        self.assertIn(code, (0, 1))
        says = json.loads(out)
        self.assertEqual(rows.platform, says.pop("platform"))
        self.assertEqual(rows.warnings, says.pop("warnings"))
        self.assertEqual(rows.notes, says.pop("notes", []))
        self.assertEqual(rows.tables, says)
        self.assertEqual(list(rows), next(iter(says.values())))
        self.assertEqual(rows.holds, code == 0)

    def test_are_those_of_the_json_to_the_last_digit(self):
        self.same(c3sim.c3(**PAIR, strategy=["c3_sp", "conccl"], delay="10us"),
                  "c3", "--gemm", PAIR["gemm"], "--collective", "all_gather", "--bytes", "896MiB", "--strategy",
                  "c3_sp,conccl", "--delay", "10us")
        self.same(c3sim.gemm(gemm="4096x4096x4096", cus=[304, 152]),
                  "gemm", "--gemm", "4096x4096x4096", "--cus", "304,152")
        self.same(c3sim.collective(collective="all_gather", backend="sdma", bytes="1KiB:1MiB:x32", prelaunch="both",
                                   variant="all", set={"gpu.sdma.engines": 32}),
                  "collective", "--collective", "all_gather", "--backend", "sdma", "--bytes", "1KiB:1MiB:x32",
                  "--prelaunch", "both", "--variant", "all", "--set", "gpu.sdma.engines=32")
        self.same(c3sim.copy(from_="gpu0", to="host", bytes="64KiB", explain=True),
                  "copy", "--from", "gpu0", "--to", "host", "--bytes", "64KiB", "--explain")
        self.same(c3sim.kernel(read="2GiB", write="1GiB", flops=5e11),
                  "kernel", "--read", "2GiB", "--write", "1GiB", "--flops", "5e11")
        self.same(c3sim.platform("h200", filter="sdma"), "platform", "h200", "--filter", "sdma")
        experiment = str(ROOT / "configs" / "experiments" / "layer_overlap.yaml")
        self.same(c3sim.run(experiment), "run", experiment)
        self.same(c3sim.validate("power"), "validate", "power")
        self.same(c3sim.step(model="llama3-8b", phase="decode", layers=1, context=128, tp=8),
                  "step", "--model", "llama3-8b", "--phase", "decode", "--layers", "1", "--context", "128", "--tp", "8")
        with tempfile.TemporaryDirectory() as folder:
            study = Path(folder) / "few.yaml"
            study.write_text(FEW_REQUESTS)
            self.same(c3sim.serve(study, rate=4), "serve", str(study), "--rate", "4")

    def test_of_a_flag_that_may_have_a_value(self):
        asked = dict(collective="all_gather", backend="sdma", bytes="64KiB")
        self.assertEqual(c3sim.collective(**asked, prelaunch=True), c3sim.collective(**asked, prelaunch="yes"))
        self.assertNotEqual(c3sim.collective(**asked, prelaunch=True), c3sim.collective(**asked, prelaunch=False))

    def test_leave_files_with_the_command_that_asks_for_them_again(self):
        with tempfile.TemporaryDirectory() as folder:
            c3sim.gemm(gemm="1024x1024x1024", cus=152, out=Path(folder) / "out", set=["gpu.sdma.engines=32"])
            written = json.loads((Path(folder) / "out" / "results.json").read_text())
        self.assertEqual(written["command"], "c3sim gemm --gemm 1024x1024x1024 --cus 152 --set gpu.sdma.engines=32 "
                                             f"--out {folder}/out")

    def test_take_values_in_any_sequence_and_sizes_as_rows_have_them(self):
        listed = c3sim.gemm(gemm="1024x1024x1024", cus=[152, 304])
        for counts in (range(152, 305, 152), (152 * n for n in (1, 2)), {152: None, 304: None}.keys(), _Array([152, 304])):
            self.assertEqual(c3sim.gemm(gemm="1024x1024x1024", cus=counts), listed)
        with self.assertRaisesRegex(c3sim.InputError, "^--cus: set is no value"):
            c3sim.gemm(gemm="1024x1024x1024", cus={152, 304})
        with self.assertRaisesRegex(c3sim.InputError, "^--cus: an empty list names no value"):
            c3sim.gemm(gemm="1024x1024x1024", cus=[])
        asked = dict(collective="all_gather", backend="sdma")
        row, = c3sim.collective(**asked, bytes=67108864)
        self.assertEqual(row["bytes"], 67108864)
        self.assertEqual(c3sim.collective(**asked, bytes=[row["bytes"], 2.0**20]),
                         c3sim.collective(**asked, bytes="64MiB,1MiB"))

    def test_of_a_slice_keep_the_tables(self):
        rows = c3sim.gemm(gemm="1024x1024x1024", cus=[152, 304], explain=True)
        part = rows[1:]
        self.assertEqual((list(part), part.tables, part.platform), ([rows[1]], rows.tables, "mi300x"))
        self.assertIs(type(part), c3sim.Rows)

    def test_of_claims_alone_are_the_claims(self):
        claims = c3sim.validate("t3")
        self.assertGreater(len(claims), 0)
        self.assertEqual(claims, claims.tables["claims"])

    def test_of_several_splits_can_be_told_apart(self):
        asked = dict(model="llama3-8b", phase="decode", layers=1, graph=True)
        rows = [*c3sim.step(**asked, tp=8), *c3sim.step(**asked, dp=8)]
        self.assertEqual([(row["tp"], row["dp"]) for row in rows], [(8, 1), (1, 8)])

    def test_are_frames_where_pandas_is(self):
        rows = c3sim.gemm(gemm="1024x1024x1024")
        step = c3sim.step(model="llama3-8b", phase="decode", layers=1)
        with mock.patch.dict(sys.modules, pandas=types.SimpleNamespace(DataFrame=_Frame)):
            frame = c3sim.frame(rows)
            flat, = c3sim.frame(step).rows
        with mock.patch.dict(sys.modules, pandas=None):
            with self.assertRaisesRegex(ModuleNotFoundError, "frame needs pandas"):
                c3sim.frame(rows)
        self.assertEqual((frame.rows, frame.attrs["platform"]), (rows, "mi300x"))
        groups = [key for key, value in step[0].items() if isinstance(value, dict)]
        self.assertTrue(groups)
        for group in groups:  # as the columns of CSV: "by_kind.gemm"
            self.assertNotIn(group, flat)
            for key, value in step[0][group].items():
                self.assertEqual(flat[f"{group}.{key}"], value)


class _Array:
    """Has, as an array of NumPy has it, what numbers have."""
    ndim = 1

    def __init__(self, values):
        self.values = values

    def __iter__(self):
        return iter(self.values)

    def __float__(self):
        raise TypeError

    __index__ = __float__


class _Frame:
    """Stands for pandas.DataFrame, so that no test asks for pandas."""
    def __init__(self, rows):
        self.rows, self.attrs = rows, {}


class Faults(unittest.TestCase):
    def same(self, words, function, *places, **said):
        with self.assertRaises(c3sim.InputError) as raised:
            function(*places, **said)
        self.assertEqual(str(raised.exception).rstrip("\n"), told(command(*words)[2]).rstrip("\n"))

    def test_say_what_the_command_line_says(self):
        square = "1024x1024x1024"
        self.same(["c3"], c3sim.c3)
        self.same(["gemm", f"--gem={square}"], c3sim.gemm, gem=square)
        self.same(["gemm", "--gemm", "7"], c3sim.gemm, gemm=7)
        self.same(["gemm", "--gemm", square, "--cus", "1.5"], c3sim.gemm, gemm=square, cus=1.5)
        self.same(["gemm", "--gemm", square, "--platform", "mi300"], c3sim.gemm, gemm=square, platform="mi300")
        self.same(["gemm", "--gemm", square, "--set", "gpu.sdma.engine=3"], c3sim.gemm, gemm=square,
                  set={"gpu.sdma.engine": 3})
        self.same(["collective", "--collective", "all_gather", "--bytes", "64", "--backend", "rcl"],
                  c3sim.collective, collective="all_gather", bytes="64", backend="rcl")
        self.same(["gemm", "--gemm", square, "--platform", "", "--out", ""], c3sim.gemm, gemm=square, platform="", out="")
        self.same(["copy", "--from", "gpu0", "--to", "gpu9", "--bytes", "1MiB"],
                  c3sim.copy, **{"from": "gpu0"}, to="gpu9", bytes="1MiB")
        self.same(["run", "absent.yaml"], c3sim.run, "absent.yaml")

    def test_are_not_made_of_booleans_of_parameters(self):
        first = "gpu.memory.collectives_first"
        for value, written in ((True, "true"), (False, "false")):
            rows = c3sim.platform("mi300x", filter=first, set={first: value})
            self.assertEqual([row["value"] for row in rows], [written])

    def test_are_told_of_values_that_no_command_line_has(self):
        for value in (object(), [object()], True):
            with self.assertRaisesRegex(c3sim.InputError, "^--gemm: .* is accepted"):
                c3sim.gemm(gemm=value)
        with self.assertRaisesRegex(c3sim.InputError, "'mi300x' is not expected of gemm"):
            c3sim.gemm("mi300x")
        self.assertTrue(issubclass(c3sim.InputError, ValueError))

    def test_are_told_of_flags_that_are_no_truth(self):
        for value in ("no", "yes", 0, 1, [True]):
            with self.assertRaisesRegex(c3sim.InputError, "^--explain: .* True or False is accepted$"):
                c3sim.gemm(gemm="64x64x64", explain=value)
        self.assertEqual(list(c3sim.gemm(gemm="64x64x64", explain=None).tables), ["results"])

    def test_are_told_of_what_is_no_argument(self):
        for name in ("format", "help"):  # which the command line has, and which no argument is meant by
            with self.assertRaisesRegex(c3sim.InputError, f"^error: '--{name}' is no option of gemm") as raised:
                c3sim.gemm(gemm="64x64x64", **{name: True})
            self.assertNotIn(f"--{name}", str(raised.exception).split("is no option")[1])

    def test_are_told_of_what_is_given_twice(self):
        with self.assertRaisesRegex(c3sim.InputError, "^error: --from is given twice$"):
            c3sim.copy(from_="gpu0", **{"from": "gpu1"}, to="host", bytes="1MiB")
        with self.assertRaisesRegex(c3sim.InputError, "^error: FILE is given twice$"):
            c3sim.run("a.yaml", file="b.yaml")

    # Names of files are bytes, which Python has as text with surrogates. No command line holds a NUL.
    def test_of_texts_that_are_no_utf_8_are_of_what_was_asked(self):
        with tempfile.TemporaryDirectory() as folder:
            platform = Path(os.fsdecode(os.fsencode(folder) + b"/\xff.yaml"))
            platform.write_text('base: h200\nname: {value: odd, source: "this test", kind: assumed}\n')
            self.assertEqual(c3sim.gemm(gemm="64x64x64", platform=platform).platform, "odd")
        with self.assertRaisesRegex(c3sim.InputError, "absent\N{REPLACEMENT CHARACTER}.yaml"):
            c3sim.run("absent\udcff.yaml")
        for text in ("64x\x0064x64", "\ud800"):
            with self.assertRaisesRegex(c3sim.InputError, "^--gemm: '.*' is no text that a command line may have$"):
                c3sim.gemm(gemm=text)
            with self.assertRaises(c3sim.InputError):
                c3sim.gemm(gemm="64x64x64", **{text: 1})


class Company(unittest.TestCase):
    def test_threads_ask_at_once_and_get_what_one_would(self):
        shapes = [f"{m}x8192x{k}" for m in (2048, 4096) for k in (1024, 2048, 4096)]
        alone = [c3sim.gemm(gemm=shape) for shape in shapes]
        with concurrent.futures.ThreadPoolExecutor(6) as threads:
            self.assertEqual(list(threads.map(lambda shape: c3sim.gemm(gemm=shape), shapes)), alone)

    # A thread that counts goes on while another simulates: the lock of the interpreter is free meanwhile.
    def test_python_runs_on_while_a_question_is_simulated(self):
        with concurrent.futures.ThreadPoolExecutor(1) as thread:
            answer = thread.submit(c3sim.c3, **PAIR)
            counted = 0
            while not answer.done():
                counted += 1
                time.sleep(0.001)
        self.assertGreater(counted, 3)

    # Each question takes a minute or longer if nobody interrupts it.
    def test_an_interrupt_ends_it_as_python_does(self):
        with tempfile.TemporaryDirectory() as folder:
            study = Path(folder) / "many.yaml"
            study.write_text(FEW_REQUESTS.replace("requests: 4", "requests: 10000000"))
            for question in (
                    "collective(collective='all_to_all', bytes='1KiB:512GiB:x2', backend='sdma', variant='all',"
                    " uncertainty=10000)",
                    f"serve({str(study)!r})",
                    f"calibrate('h200', platform='h200', out={folder + '/fitted.yaml'!r})",
                    "tune(step=True, model='llama3-70b', phase='train', tokens=1024, dp=8, shard='full', batch=1)"):
                with self.subTest(question):
                    self.ends_when_interrupted(question)

    def ends_when_interrupted(self, question):
        program = (f"import c3sim\nprint('asks', flush=True)\ntry:\n  c3sim.{question}\n"
                   "except KeyboardInterrupt:\n  print('interrupted', c3sim.gemm(gemm='64x64x64')[0]['gemm'])\n")
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as asking:
            self.assertEqual(asking.stdout.readline(), "asks\n")
            time.sleep(1.5)
            asking.send_signal(signal.SIGINT)
            try:
                self.assertEqual(asking.communicate(timeout=10)[0], "interrupted 64x64x64\n")
            finally:
                asking.kill()
            self.assertEqual(asking.returncode, 0)


class Descriptions(unittest.TestCase):
    def test_name_every_option_of_the_command_line(self):
        for name in c3sim.__all__[3:]:
            words = command(name, "--help")[1].split()
            parameters = inspect.signature(getattr(c3sim, name)).parameters
            options = {word[2:].split(",")[0].replace("-", "_") for word in words if word.startswith("--")}
            for parameter in parameters:
                self.assertIn(parameter + " (", inspect.getdoc(getattr(c3sim, name)))
                typed = parameter.rstrip("_")
                self.assertTrue(typed in options or typed.upper() in words, f"{name}: {parameter}")

    def test_of_types_are_those_of_the_functions(self):
        stub = (Path(c3sim.__file__).parent / "__init__.pyi").read_text()
        compile(stub, "__init__.pyi", "exec")
        for name in c3sim.__all__[3:]:
            self.assertIn(f"def {name}(", stub)


if __name__ == "__main__":
    unittest.main()
