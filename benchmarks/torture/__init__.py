"""Attacks with fixed seeds: random networks, evidence, tables, files and faults, against references worked out here.

    python -m benchmarks.torture --minutes 10 --seed 1            # all kinds of attack, on two processes
    python -m benchmarks.torture --comparisons 10000000           # until there are so many comparisons
    python -m benchmarks.torture --seed 1 --case questions:123    # one case again, with all that it was made of

A module of this package holds one kind of attack, or several that are alike, each a function with the decorator
:func:`benchmarks.torture.case.kind`. A *case* is a pure function of the seed, the kind and a number, so that it can be
repeated alone, on any machine. It asks bntk and a reference the same things.

A *comparison* is one thing of ours against one of the reference: each entry of a posterior, each log-probability,
each label or imputed cell, each entry of a table, each score, each structure, and each outcome of a call that must be
refused. A call whose answer is an array counts each entry, up to a
thousand of them; a call that must raise an error counts once.

Answers about networks are compared with the full joint distribution by enumeration in extended precision
(``numpy.longdouble``; :func:`benchmarks.torture.reference.precision` says what that is here), others with formulas
written out, with counting by hand, or with another way to the same answer that must give the same bits.
"""
