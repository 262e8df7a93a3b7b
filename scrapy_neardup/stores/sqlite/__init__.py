"""``sqlite:FILE``: an embedded store that outlives its process."""
