"""What speaks for and against 'the same page'."""
