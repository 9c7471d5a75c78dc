"""Speed and size of rerail, side by side with a peer: `python -m bench --help`."""
