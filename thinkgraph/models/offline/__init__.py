"""The offline model: a rule-based reply to every kind, by similarity of words and sentences."""

from thinkgraph.models.offline.model import OfflineChatModel

__all__ = ["OfflineChatModel"]
