"""The options, their permitted values, and the checks of values and arguments."""
