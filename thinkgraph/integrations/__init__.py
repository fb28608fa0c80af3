"""The package inside other frameworks."""
