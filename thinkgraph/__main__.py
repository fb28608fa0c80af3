"""`python -m thinkgraph`: the command line, where its script is not on the path."""

from thinkgraph.cli.main import entry

if __name__ == "__main__":
    entry()
