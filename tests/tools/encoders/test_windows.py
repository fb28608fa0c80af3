from __future__ import annotations

from thinkgraph.tools.encoders.embeddings import BundledEmbedder, load_embedder
from thinkgraph.tools.encoders.windows import split_words


def test_windows_cover_a_long_text() -> None:
    bundled = load_embedder()
    assert isinstance(bundled, BundledEmbedder)
    text = " ".join(f"word{i}" for i in range(700))
    windows = bundled.windows(text, "Title: ")
    assert len(windows) > 2
    assert all(window.startswith("Title: ") for window in windows)
    assert windows[-1].endswith("word699")
    assert bundled.windows("short", "Title: ") == ["Title: short"]
    assert bundled.windows("", "") == [""]
    assert all(len(window) <= 3000 for window in split_words("漢" * 9000))
    assert "".join(split_words("漢" * 1000)) == "漢" * 1000
