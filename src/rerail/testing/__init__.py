"""What tests and demos stand on: a scripted origin, a test authority, a simulated and a real model.

Shipped with rerail, so that a user can test an agent on it too. Nothing that records or replays may
import it.
"""
