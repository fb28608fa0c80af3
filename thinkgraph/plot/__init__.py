"""Pictures of answers: the chains of triples or of communities that led to one (FastToG, figure 6), as SVG or HTML."""

from __future__ import annotations

from thinkgraph.plot.save import check_target, plot_answer

__all__ = ["check_target", "plot_answer"]
