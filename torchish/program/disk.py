"""Executables kept between processes, in the user's cache folder.

`TORCHISH_CACHE` names another folder, `TORCHISH_CACHE=0` switches it off. A file's name is the digest of all that decides its
contents: the operations, their shapes, the compiler's options, the versions, the processor and torchish's own sources.
"""

import functools
import hashlib
import os
import pickle
import platform
import tempfile
import time
from pathlib import Path

import jax
import numpy as np
from jax.experimental import serialize_executable
from jaxlib import lapack

ROOM = 1 << 30      # bytes; the oldest files go first


def digest(*parts):
    """A short name for a structure; None when one of its parts has none."""
    return None if None in parts else hashlib.blake2b(repr(parts).encode(), digest_size=20).hexdigest()


@functools.cache
def folder():
    """Where executables are kept, or None."""
    named = os.environ.get("TORCHISH_CACHE", "")
    if named == "0":
        return None
    base = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "torchish"
    path = base / surroundings()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return path


def surroundings():
    """Digest of what an executable depends on besides its program."""
    sources = hashlib.blake2b()
    package = Path(__file__).parents[1]
    for file in sorted([*package.glob("ops/*.py"), *package.glob("program/*.py")]):
        sources.update(file.read_bytes())
    device = jax.devices()[0]
    return digest(jax.__version__, jax.lib.__version__, platform.python_version(), sources.hexdigest(), device.platform,
                  device.device_kind, len(jax.devices()), processor(), os.environ.get("XLA_FLAGS", ""))


def processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next((line for line in lines if line.startswith(("flags", "Features"))), "") + platform.machine()
    except OSError:
        return platform.platform() + platform.processor()


@functools.cache
def make_room(base):
    """Once a process that writes: delete the files used least recently when there are too many bytes of them."""
    files = sorted(((f.stat().st_mtime, f.stat().st_size, f) for f in base.glob("*/*")), reverse=True)
    total = 0
    for _, size, file in files:
        total += size
        if total > ROOM:
            file.unlink(missing_ok=True)


def exists(name):
    """Whether an executable of that digest is kept."""
    return bool(folder() and name and (folder() / name).exists())


def load(name):
    """The executable of that digest, or None."""
    if not exists(name):
        return None
    path = folder() / name
    try:
        data = path.read_bytes()
        if b"lapack_" in data:      # JAX loads LAPACK while it lowers, and a kept executable isn't lowered again
            lapack.prepare_lapack_call("getrf", np.float32)
        made = serialize_executable.deserialize_and_load(*pickle.loads(data))
    except Exception:   # written by a broken disk or another build: compiling anew is always right
        path.unlink(missing_ok=True)
        return None
    os.utime(path, (time.time(),) * 2)
    return made


def save(name, executable):
    """Keep an executable; a full or read-only disk is no reason to fail."""
    if not name or not folder():
        return
    try:
        make_room(folder().parent)
        data = pickle.dumps(serialize_executable.serialize(executable))
        with tempfile.NamedTemporaryFile(dir=folder(), delete=False) as file:
            file.write(data)
        os.replace(file.name, folder() / name)
    except (OSError, ValueError, TypeError, NotImplementedError, pickle.PicklingError, jax.errors.JaxRuntimeError):
        return
