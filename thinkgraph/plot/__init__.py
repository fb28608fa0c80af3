"""Pictures of answers: the chains of triples or of communities that led to one (FastToG, figure 6), as SVG or HTML."""
