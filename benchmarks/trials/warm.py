"""What every process of a trial is forked from: all is imported, and the encoder's weights are read."""

import functools
import importlib

from thinkgraph.tools.encoders import embeddings
from trials import broken

for _name in (
    "langchain_openai",
    "langgraph.checkpoint.sqlite",
    "thinkgraph.cli.batch",
    "thinkgraph.cli.bench.command",
    "thinkgraph.cli.kb.command",
    "thinkgraph.cli.main",
    "thinkgraph.cli.resume",
    "thinkgraph.eval.batch",
    "thinkgraph.eval.bench_setup",
    "thinkgraph.graphs.build",
    "thinkgraph.ingest.build",
    "thinkgraph.ingest.documents.build",
    "thinkgraph.models.wire.lean_openai",
    "thinkgraph.tools.knowledge",
    *(f"thinkgraph.graphs.{_method}" for _method in ("tog2", "fasttog", "fiske", "coggrag")),
):
    importlib.import_module(_name)
embeddings.MiniLM = functools.cache(embeddings.MiniLM)  # type: ignore[misc]
embeddings.MiniLM(embeddings.bundled_folder())
broken.apply()
