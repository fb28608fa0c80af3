"""The offline model: plays every reply kind by lexical and embedding similarity, without a language model."""

from thinkgraph.models.offline.model import OfflineChatModel

__all__ = ["OfflineChatModel"]
