"""Different URLs with similar text (DUST): rules learnt from verdicts, without I/O."""
