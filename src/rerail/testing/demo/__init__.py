"""The demo: a small real agent, the servers of its tools, and the simulated model's part.

`job/` is what the user of an agent would have: it is copied out and run as it stands, and is
shipped inside the package so that `rerail demo` works from an installed wheel.
"""
