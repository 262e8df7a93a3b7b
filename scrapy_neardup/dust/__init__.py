"""Different URLs with similar text (DUST): rules of addresses, learnt from verdicts, pure."""
