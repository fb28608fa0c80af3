"""What runs in the process that gets killed: a build from documents, relations extracted by a model."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from thinkgraph.ingest.documents.build import DocumentOptions, ExtractionModel, build_documents, update_documents
from thinkgraph.ingest.documents.extraction import ExtractSettings
from thinkgraph.state.settings import resolve_settings
from thinkgraph.testing.embedder import HashEmbedder

OPTIONS: dict[str, Any] = {"concurrency": 3}


def extract_and_write(docs: str, home: str, base_url: str) -> None:
    """Build to the end and write report.json."""
    os.environ["OPENAI_BASE_URL"] = base_url
    os.environ["THINKGRAPH_CACHE"] = str(Path(home) / "cache")
    report = build_documents(
        Path(home) / "kb",
        [Path(docs)],
        options=DocumentOptions(extract="llm"),
        extractor=ExtractionModel(model="openai:m", settings=resolve_settings(ExtractSettings, OPTIONS)),
        embedder=HashEmbedder(64),
        index=False,
    )
    facts = {"failed": report.documents["failed"], "statements": report.counts["statements"]}
    facts["documents"] = report.documents["documents"]
    (Path(home) / "report.json").write_text(json.dumps(facts))


def update(docs: str, home: str) -> None:
    """Update the base at `home`/kb from a folder."""
    update_documents(Path(home) / "kb", [Path(docs)], embedder=HashEmbedder(64))
