"""What went wrong, from the records alone: an investigation starts nothing and asks nobody."""
