"""The commands `export` and `g2t`."""
