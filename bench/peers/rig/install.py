"""Builds our programs and installs those of others, below `target/peers`.

Versions are exact: those of `packages/` for npm and PyPI, and of `Cargo.lock` for crates.io. No
script of a package is run.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .layout import HERE, ROOT, TARGET

#: How long an installation or a build may take, in seconds.
TIMEOUT = 3600

PACKAGES = HERE / "packages"


class Missing(Exception):
    """A program cannot be had here, and why."""


@dataclass(frozen=True)
class Programs:
    """What every comparison needs."""

    meantime: Path
    load: Path
    meantime_worker: Path
    restate_service: Path


def programs(meantime: Path | None) -> Programs:
    """Builds our programs. A given binary of the engine is used as it is."""
    if meantime is None:
        cargo(["build", "--release", "-p", "meantime-cli"], ROOT / "target")
        meantime = ROOT / "target" / "release" / "meantime"
    meantime = meantime.resolve()
    if not meantime.is_file():
        sys.exit(f"{meantime} does not exist")
    build = TARGET / "build"
    cargo(["build", "--release", "--locked", "--manifest-path", str(HERE / "Cargo.toml")], build)
    built = build / "release"
    return Programs(meantime, built / "load", built / "meantime-worker", built / "restate-service")


def cargo(arguments: list[str], target: Path) -> None:
    """Runs cargo."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    subprocess.run(["cargo", *arguments], cwd=ROOT, env=environment, check=True, timeout=TIMEOUT)


def restate_server() -> Path:
    """Restate's server: a binary in a package for each platform.

    The package `@restatedev/restate-server` only chooses one of them, and depends on another one
    that counts installations, so it is not used.
    """
    if shutil.which("npm") is None:
        raise Missing("npm is not installed")
    directory = TARGET / "npm"
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(PACKAGES / name, directory / name)
    arguments = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
    done = subprocess.run(arguments, cwd=directory, timeout=TIMEOUT, check=False)
    architecture = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), "unknown")
    package = f"@restatedev/restate-server-linux-{architecture}"
    server = directory / "node_modules" / package / "bin" / "restate-server"
    if done.returncode != 0 or not server.is_file():
        raise Missing(f"npm cannot install {package}")
    return server


def python(name: str) -> Path:
    """The directory of programs of a virtual environment with the packages of `packages/NAME.txt`.

    Only wheels are installed: building a package would run its code.
    """
    directory = TARGET / f"python-{name}"
    programs_of_it = directory / "bin"
    if not (programs_of_it / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", directory], check=True, timeout=TIMEOUT)
    arguments = [str(programs_of_it / "python"), "-m", "pip", "install", "--quiet"]
    arguments += ["--disable-pip-version-check", "--only-binary", ":all:"]
    arguments += ["--requirement", str(PACKAGES / f"{name}.txt")]
    done = subprocess.run(arguments, timeout=TIMEOUT, check=False)
    if done.returncode != 0:
        raise Missing(f"pip cannot install packages/{name}.txt")
    return programs_of_it


def postgres() -> Path:
    """The directory of the programs of PostgreSQL, as it is installed on the machine."""
    found = sorted(
        (path for path in Path("/usr/lib/postgresql").glob("*/bin") if (path / "initdb").exists()),
        key=lambda path: path.parent.name.zfill(4),
    )
    if found:
        return found[-1]
    initdb = shutil.which("initdb")
    if initdb is None:
        raise Missing("PostgreSQL is not installed")
    return Path(initdb).resolve().parent
