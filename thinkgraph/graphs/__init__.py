"""One file per method: wiring only, reading like the paper's figure; and the registry of their names."""
