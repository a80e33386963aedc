"""Learning: counts, and what is made of them."""
