"""A replaying session: the tape's replies in place of the network's, and what followed it."""
