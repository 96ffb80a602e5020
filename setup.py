"""Builds the module by CMake and lays it into the package, with the configurations and measurements that it reads.

`pip install --no-build-isolation .` takes what is installed and downloads nothing.
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
BUILD = ROOT / "build" / "pip"


class BuildByCMake(build_py):
    def run(self):
        subprocess.run(["cmake", "--preset", "release", "-B", BUILD, "-DBUILD_TESTING=OFF", "-DC3SIM_BENCH=OFF",
                        f"-DPython_EXECUTABLE={sys.executable}"], cwd=ROOT, check=True)
        subprocess.run(["cmake", "--build", BUILD, "--target", "c3sim_package"], check=True)
        package = Path(self.build_lib) / "c3sim"
        copy = dict(dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(BUILD / "python" / "c3sim", package, **copy)
        shutil.copytree(ROOT / "configs", package / "configs", **copy)
        for name in ("reference", "suites"):
            shutil.copytree(ROOT / "validate" / name, package / "validate" / name, **copy)
        for name in ("claims.yaml", "deviations.yaml", "goldens.json"):
            shutil.copy(ROOT / "validate" / name, package / "validate" / name)


class WithModule(Distribution):
    def has_ext_modules(self):
        return True


setup(
    version=re.search(r"project\(c3sim VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1],
    packages=["c3sim"],
    package_dir={"": "python"},
    cmdclass={"build_py": BuildByCMake},
    distclass=WithModule,
)
