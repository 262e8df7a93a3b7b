"""Two pages to a decision: what is stored of a page, and how it is compared with another one."""
