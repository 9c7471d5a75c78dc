"""Back to a step of a recorded run and on from there, live, with a hint, onto another tape."""
