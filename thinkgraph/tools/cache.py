"""Where derived files live: the user's cache folder, never the knowledge base's."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from thinkgraph.errors import KnowledgeError


def cache_folder(*parts: str) -> Path:
    """The cache folder (the environment's THINKGRAPH_CACHE, else the platform's), or one below it; not created."""
    override = os.environ.get("THINKGRAPH_CACHE")
    base = Path(override).expanduser() if override else Path(platformdirs.user_cache_dir("thinkgraph", appauthor=False))
    return base.joinpath(*parts)


@contextmanager
def file_lock(path: Path, *, timeout: float = 600.0) -> Iterator[None]:
    """Hold `path` against other processes and threads; the lock ends with the process, however it ends.

    Raises:
        KnowledgeError: The folder cannot be written, or somebody held the lock for `timeout` seconds.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise KnowledgeError(
            f"cannot write the cache {path.parent} ({error.strerror}): set THINKGRAPH_CACHE"
        ) from error
    try:
        end = time.monotonic() + timeout
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise KnowledgeError(f"another process has held {path} for {timeout:.0f} seconds") from None
                time.sleep(0.05)
        yield
    finally:
        os.close(descriptor)
