"""A Python environment with the packages of a list, made once for each list."""

import hashlib
import os
import subprocess
import sys


def programs(requirements, place):
    """The folder with the programs of the packages that the file lists; what is in `place` of another list is removed."""
    with open(requirements, "rb") as file:
        wanted = hashlib.sha256(file.read()).hexdigest()
    mark = os.path.join(place, "made-for")
    python = os.path.join(place, "python")
    if not os.path.exists(mark) or open(mark, encoding="utf-8").read() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", python], check=True)
        pip = [os.path.join(python, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run(pip + ["--requirement", requirements], check=True)
        with open(mark, "w", encoding="utf-8") as file:
            file.write(wanted)
    return os.path.join(python, "bin")
