"""Different URLs with similar text (DUST): URL rules, learnt from verdicts, pure."""
