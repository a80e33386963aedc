"""Networks with several class variables: which spaces, scores and decisions; inference is that of every network."""
