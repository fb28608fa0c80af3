"""Entity linking: names, words, spelling, meaning."""
