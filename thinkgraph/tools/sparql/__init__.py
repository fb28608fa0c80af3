"""A SPARQL 1.1 endpoint as a graph store: read only, over HTTP, with profiles for the ways graphs are written in RDF."""
