"""The commands `bench`, `ablation` and `compare`."""
