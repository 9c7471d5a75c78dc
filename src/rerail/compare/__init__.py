"""Whether two requests are the same, by which rule, and where they differ. Knows no tape file."""
