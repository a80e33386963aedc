"""How columns of every origin become labels and codes; :mod:`bntk.table` and :mod:`bntk.readers` stand on it."""
