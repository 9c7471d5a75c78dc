"""What a model call is and means, per provider. Computed when looked at, never stored on a tape."""
