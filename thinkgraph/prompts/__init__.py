"""Every prompt, the grammar of the lines that code renders into them, and the kinds of reply they ask for."""
