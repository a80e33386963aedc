"""Several class variables by estimators of one each: binary relevance, label powerset, chains and their ensembles."""
