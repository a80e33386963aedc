"""Kernels of :class:`bntk.EnsembleKDB`: cuts, information, leave-one-out, and tables over chains of parents.

A *family* is a feature with a chain of parents u_1, ..., u_d, besides the class. Its table is shrunk towards that with
one parent less, all the way down to P(x | c):

    theta_0(x | c)            = (N_cx + alpha) / (N_c + alpha r),
    theta_j(x | c, u_1 .. u_j) = (N_cux + rows theta_{j-1} + deep) / (N_cu + rows + deep r).

A row with a missing parent counts, and is predicted, with the parents before that one.

Tables are kept as a tree: a node is a configuration of the first parents that occurs. A node of more than a few rows
has its counts; one of few has these rows, and what is deeper is counted when it is asked for. So the space is in
proportion to the rows, however many parents there are.

Codes are uint16, in all arrays here: one signature per kernel. Kernels trust their arguments and release the GIL.
"""

# mypy: allow-untyped-defs, allow-untyped-decorators, no-check-untyped-defs
from __future__ import annotations

import math

import numpy as np

from bntk._kernels import njit, part

# Losses of leave-one-out.
SQUARED, LOG, ZERO_ONE = 0, 1, 2
# Losses that differ by less than this share are equal.
TIE_SHARE = 1e-9
# Products below this are scaled up again.
TINY = 1e-200


# ---- cuts ------------------------------------------------------------------------------------------------------------


@part
def split_gain(below, start, cut, stop):
    """What a cut tells about the class: the rows times the mutual information of side and class."""
    gain, left, right = 0.0, 0.0, 0.0
    for c in range(below.shape[1]):
        on_left, on_right = below[cut, c] - below[start, c], below[stop, c] - below[cut, c]
        left += on_left
        right += on_right
        if on_left > 0:
            gain += on_left * math.log(on_left)
        if on_right > 0:
            gain += on_right * math.log(on_right)
        if on_left + on_right > 0:
            gain -= (on_left + on_right) * math.log(on_left + on_right)
    return gain - left * math.log(left) - right * math.log(right) + (left + right) * math.log(left + right)


@njit(cache=True, nogil=True)
def draw_cuts(mass, below, uniforms, n_leaves, cuts):
    """Cuts of one column, by a tree with random splits; returns how many, fewer than ``n_leaves``.

    ``mass`` and ``below`` are the rows, and those of each class, below each of the different values. Each leaf draws
    some cuts, with a uniform number each, and keeps the one that tells most; the leaf whose cut tells most is split.
    A cut at i is between the values i - 1 and i.
    """
    tries = uniforms.shape[1]
    starts, stops = np.zeros(n_leaves, dtype=np.int64), np.zeros(n_leaves, dtype=np.int64)
    best, gains = np.full(n_leaves, -1), np.zeros(n_leaves)
    stops[0] = mass.size - 1
    n, looked_at = 1, 0
    for _ in range(n_leaves - 1):
        for leaf in (looked_at, n - 1):
            start, stop = starts[leaf], stops[leaf]
            best[leaf] = -1
            if stop - start < 2:
                continue
            for t in range(tries):
                at = mass[start] + uniforms[2 * n - 1 - (leaf == n - 1), t] * (mass[stop] - mass[start])
                cut = min(max(np.searchsorted(mass, at), start + 1), stop - 1)
                gain = split_gain(below, start, cut, stop)
                if best[leaf] < 0 or gain > gains[leaf]:
                    best[leaf], gains[leaf] = cut, gain
        chosen = -1
        for leaf in range(n):
            if best[leaf] >= 0 and (chosen < 0 or gains[leaf] > gains[chosen]):
                chosen = leaf
        if chosen < 0:
            break
        cuts[n - 1] = best[chosen]
        starts[n], stops[n] = best[chosen], stops[chosen]
        stops[chosen] = best[chosen]
        looked_at = chosen
        n += 1
    return n - 1


# ---- information -----------------------------------------------------------------------------------------------------


@part
def information_of(table):
    """Rows times the mutual information of the two axes, and the rows."""
    n_rows, found = 0.0, 0.0
    first, second = np.zeros(table.shape[0]), np.zeros(table.shape[1])
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            n = table[i, j]
            if n > 0:
                n_rows += n
                first[i] += n
                second[j] += n
                found += n * math.log(n)
    for n in first:
        if n > 0:
            found -= n * math.log(n)
    for n in second:
        if n > 0:
            found -= n * math.log(n)
    return found + (n_rows * math.log(n_rows) if n_rows > 0 else 0.0), n_rows


@njit(cache=True, nogil=True)
def feature_information(codes, cards, classes, n_classes, weights, rows, changed, with_class, given_class):
    """I(X_i; C) and I(X_i; X_j | C) on some rows, of the features that have changed; others stay as they are."""
    above, own = np.empty(rows.size, dtype=np.uint32), np.empty((codes.shape[0], rows.size), dtype=np.uint16)
    of_rows = weights[rows]
    for i in range(codes.shape[0]):
        own[i] = codes[i][rows]
    for i in range(codes.shape[0]):
        r_i = cards[i] + 1
        for n in range(rows.size):
            above[n] = classes[rows[n]] * r_i + own[i, n]
        if changed[i]:
            table = np.zeros(n_classes * r_i)
            for n in range(rows.size):
                table[above[n]] += of_rows[n]
            found, n_rows = information_of(table.reshape(n_classes, r_i)[:, : cards[i]])
            with_class[i] = max(found / n_rows, 0.0) if n_rows > 0 else 0.0
        for j in range(i):
            if not changed[i] and not changed[j]:
                continue
            r_j, values = np.uint32(cards[j] + 1), own[j]
            table = np.zeros(n_classes * r_i * (cards[j] + 1))
            # Additions to the same cell wait for each other: of few cells, every other row gets its own.
            apart = 16 * table.size < rows.size
            other = np.zeros(table.size) if apart else table
            for n in range(0, rows.size - 1, 2):
                table[above[n] * r_j + values[n]] += of_rows[n]
                other[above[n + 1] * r_j + values[n + 1]] += of_rows[n + 1]
            if rows.size % 2:
                table[above[-1] * r_j + values[-1]] += of_rows[-1]
            if apart:
                table += other
            tables = table.reshape(n_classes, r_i, cards[j] + 1)
            total, n_total = 0.0, 0.0
            for c in range(n_classes):
                found, n_rows = information_of(tables[c, : cards[i], : cards[j]])
                total += found
                n_total += n_rows
            given_class[i, j] = max(total / n_total, 0.0) if n_total > 0 else 0.0
            given_class[j, i] = given_class[i, j]


# ---- leave-one-out ---------------------------------------------------------------------------------------------------


@part
def refine(codes, card, rows, starts, n_groups, spare, spare_starts):
    """Divide groups of rows by one more variable; rows that miss it are dropped. Returns the number of groups.

    Group g has the rows from ``starts[g]`` to ``starts[g + 1]``. The order of rows within a group is kept.
    """
    begins = np.empty(card + 2, dtype=np.int64)
    n_found, end = 0, 0
    spare_starts[0] = 0
    for g in range(n_groups):
        begins[:] = 0
        for i in range(starts[g], starts[g + 1]):
            begins[codes[rows[i]] + 1] += 1
        begins[0] = end
        for v in range(card):
            begins[v + 1] += begins[v]
            if begins[v + 1] > begins[v]:
                n_found += 1
                spare_starts[n_found] = begins[v + 1]
        end = begins[card]
        for i in range(starts[g], starts[g + 1]):
            v = codes[rows[i]]
            if v < card:
                spare[begins[v]] = rows[i]
                begins[v] += 1
    for i in range(end):
        rows[i] = spare[i]
    for g in range(n_found + 1):
        starts[g] = spare_starts[g]
    return n_found


@part
def multiply(scores, theta, truth, weights, kind):
    """Multiply the scores of all judged rows by theta, and return their loss."""
    flat, factors = scores.reshape(-1), theta.reshape(-1)
    for i in range(flat.size):  # a loop of its own, for several numbers at once
        flat[i] *= factors[i]
    loss = 0.0
    for j in range(truth.size):
        total = 0.0
        for c in range(scores.shape[1]):
            total += scores[j, c]
        if total < TINY:
            for c in range(scores.shape[1]):
                scores[j, c] = scores[j, c] / total if total > 0 else 1.0 / scores.shape[1]
            total = 1.0
        own = scores[j, truth[j]]
        if kind == SQUARED:
            loss += weights[j] * (1.0 - own / total) * (1.0 - own / total)
        elif kind == LOG:
            loss -= weights[j] * math.log(max(own / total, 1e-300))
        else:
            loss += 0.0 if own >= scores[j].max() else weights[j]
    return loss


@part
def root_theta(own, r, n_known, known, judged, classes, weights, left, alpha, cells, totals, inverse, theta):
    """P(x | c) for each judged row, without it; 1 where x is missing."""
    for i in range(n_known):
        q = known[i]
        cells[own[q], classes[q]] += weights[q]
        totals[classes[q]] += weights[q]
    for c in range(totals.size):
        total = totals[c] + alpha * r
        inverse[c] = 1.0 / total if total > 0 else 0.0
    for j in range(judged.size):
        q = judged[j]
        x = own[q]
        for c in range(totals.size):
            theta[j, c] = 1.0 if x >= r else ((cells[x, c] + alpha) * inverse[c] if inverse[c] > 0 else 1.0 / r)
        if x < r:
            c = classes[q]
            total = totals[c] - left[q] + alpha * r
            theta[j, c] = (cells[x, c] - left[q] + alpha) / total if total > 0 else 1.0 / r
    cells[:] = 0.0
    totals[:] = 0.0


@part
def shrink_groups(
    own, r, rows, starts, n_groups, place, classes, weights, left, shrink, deep, cell_of, cells, totals, inverse, kept,
    theta,
):  # fmt: skip
    """Shrink the tables of groups of rows towards theta, for each judged row, without it.

    Keeps the groups that may change something when they are divided further, and returns their number: not those
    without a judged row, nor one row alone. All groups in one call, which else takes longer than the work for a group.
    Judged rows are the first of each group, so that the processor need not guess which are. Additions to the same
    number wait for each other: where a group has more rows than cells, every other row has cells of its own, and totals
    are sums of cells.
    """
    others = np.zeros(cells.size)
    n_kept, n_rows_kept, end, n_classes = 0, 0, 0, totals.size
    for g in range(n_groups):
        begin, end = end, starts[g + 1]
        first = rows[begin]
        if place[first] < 0 or (end - begin == 1 and deep == 0 and left[first] == weights[first]):
            continue
        large = end - begin > cells.size
        if large:
            for i in range(begin, end - 1, 2):
                cells[cell_of[rows[i]]] += weights[rows[i]]
                others[cell_of[rows[i + 1]]] += weights[rows[i + 1]]
            if (end - begin) % 2:
                cells[cell_of[rows[end - 1]]] += weights[rows[end - 1]]
            cells += others
            others[:] = 0.0
            for i in range(r):
                for c in range(n_classes):
                    totals[c] += cells[i * n_classes + c]
        else:
            for i in range(begin, end):
                q = rows[i]
                cells[cell_of[q]] += weights[q]
                totals[classes[q]] += weights[q]
        for c in range(n_classes):
            total = totals[c] + shrink + deep * r
            inverse[c] = 1.0 / total if total > 0 else 0.0
            kept[c] = shrink * inverse[c] if total > 0 else 1.0  # without rows or shrinking, theta stays
        for i in range(begin, end):
            q, j = rows[i], place[rows[i]]
            if j < 0:
                break
            at, c = own[q] * n_classes, classes[q]
            before, total = theta[j, c], totals[c] - left[q] + shrink + deep * r
            for v in range(n_classes):
                theta[j, v] = (cells[at + v] + deep) * inverse[v] + kept[v] * theta[j, v]
            theta[j, c] = (cells[at + c] - left[q] + shrink * before + deep) / total if total > 0 else before
        if large:
            cells[:] = 0.0
            totals[:] = 0.0
        else:
            for i in range(begin, end):
                cells[cell_of[rows[i]]] = 0.0
                totals[classes[rows[i]]] = 0.0
        for i in range(begin, end):
            rows[n_rows_kept] = rows[i]
            n_rows_kept += 1
        n_kept += 1
        starts[n_kept] = n_rows_kept
    return n_kept


@njit(cache=True, nogil=True)
def leave_one_out(
    codes, cards, classes, weights, left, judged, judged_weights, log_prior, order, parents, n_parents, max_k,
    smoothing, kind, found,
):  # fmt: skip
    """Predict judged rows from all others, for each number of first features and of parents; returns the best two.

    ``left`` is how much of a row is taken away when it is predicted. ``log_prior`` has the log of P(class) for each
    judged row. The probabilities for the best two are written to ``found``, of the shape (judged rows, classes).
    Returns the number of parents, that of features, and the loss; the first of equal ones in the order of features.
    """
    n_rows, n_judged, n_classes = codes.shape[1], judged.size, found.shape[1]
    alpha, shrink, deep = smoothing[0], smoothing[1], smoothing[2]
    place = np.full(n_rows, -1)
    for j in range(n_judged):
        place[judged[j]] = j
    first_judged = np.concatenate((judged, np.flatnonzero(place < 0)))
    truth = classes[judged]
    scores = np.empty((max_k + 1, n_judged, n_classes))
    for k in range(max_k + 1):
        for j in range(n_judged):
            for c in range(n_classes):
                scores[k, j, c] = math.exp(log_prior[j, c])
    theta = np.ones((n_judged, n_classes))
    best = multiply(scores[0], theta, truth, judged_weights, kind)
    best_k, best_n = 0, 0
    found[:] = scores[0]
    inverse, kept, totals = np.empty(n_classes), np.empty(n_classes), np.zeros(n_classes)
    cell_of = np.empty(n_rows, dtype=np.int64)
    rows, spare = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.int64)
    starts, spare_starts = np.empty(n_rows + 2, dtype=np.int64), np.empty(n_rows + 2, dtype=np.int64)
    for n in range(order.size):
        child = order[n]
        own, r = codes[child], cards[child]
        cells = np.zeros(r * n_classes)
        for q in range(n_rows):
            cell_of[q] = own[q] * n_classes + classes[q]
        n_known = 0
        for q in first_judged:
            if own[q] < r:
                rows[n_known] = q
                n_known += 1
        root_theta(
            own,
            r,
            n_known,
            rows,
            judged,
            classes,
            weights,
            left,
            alpha,
            cells.reshape(r, n_classes),
            totals,
            inverse,
            theta,
        )
        starts[0], starts[1], n_groups = 0, n_known, 1
        chosen, least = -1, best - TIE_SHARE * abs(best)
        for k in range(max_k + 1):
            if 0 < k <= n_parents[child]:
                parent = parents[child, k - 1]
                n_groups = refine(codes[parent], cards[parent], rows, starts, n_groups, spare, spare_starts)
                n_groups = shrink_groups(
                    own, r, rows, starts, n_groups, place, classes, weights, left, shrink, deep, cell_of, cells,
                    totals, inverse, kept, theta,
                )  # fmt: skip
            loss = multiply(scores[k], theta, truth, judged_weights, kind)
            if loss < least:
                chosen, least = k, loss - TIE_SHARE * abs(loss)
                best, best_k, best_n = loss, k, n + 1
        if chosen >= 0:
            found[:] = scores[chosen]
    for j in range(n_judged):
        total = found[j].sum()
        for c in range(n_classes):
            found[j, c] = found[j, c] / total if total > 0 else 1.0 / n_classes
    return best_k, best_n, best


# ---- tables ----------------------------------------------------------------------------------------------------------


@part
def grown(array, size):
    """The array, or a larger one with the same numbers at its begin."""
    if size <= array.size:
        return array
    larger = np.empty(max(size, 2 * array.size), dtype=array.dtype)
    larger[: array.size] = array
    return larger


@part
def with_node(nodes, n_nodes, begin, end):
    """The nodes with one more, of the rows from ``begin`` to ``end``, and how many they are."""
    if n_nodes == nodes.shape[0]:
        larger = np.empty((2 * n_nodes, 4), dtype=nodes.dtype)
        larger[:n_nodes] = nodes
        nodes = larger
    nodes[n_nodes, 0], nodes[n_nodes, 1], nodes[n_nodes, 2], nodes[n_nodes, 3] = begin, end, -1, -1
    return nodes, n_nodes + 1


@part
def sort_by(values, card, rows, begin, end, spare):
    """Sort some of the rows by a variable, those that miss it last, and return where each of its states ends."""
    places = np.zeros(card + 2, dtype=np.int64)
    for i in range(begin, end):
        places[values[rows[i]] + 1] += 1
    places[0] = begin
    for v in range(card + 1):
        places[v + 1] += places[v]
    for i in range(begin, end):
        v = values[rows[i]]
        spare[places[v]] = rows[i]
        places[v] += 1
    for i in range(begin, end):
        rows[i] = spare[i]
    return places


@njit(cache=True, nogil=True)
def build_tables(codes, cards, classes, weights, n_classes, features, parents, depths, most_rows):
    """The trees of all families of a member; see :class:`bntk.classifiers.chains.Trees` for the arrays.

    ``parents[f]`` is the chain of family f, of ``depths[f]`` parents. Nodes with at most ``most_rows`` rows are not
    divided further. Returns (nodes, children, counts, rows, roots).
    """
    n_rows, n_families = codes.shape[1], features.size
    nodes, n_nodes = np.empty((64, 4), dtype=np.int64), 0
    children, n_children = np.empty(256, dtype=np.int64), 0
    counts, n_counts = np.empty(1024, dtype=np.float64), 0
    kept = np.empty(n_families * n_rows, dtype=np.int32)
    roots = np.empty(n_families, dtype=np.int64)
    first_row = 0
    spare = np.empty(n_rows, dtype=np.int32)
    for f in range(n_families):
        own, r = codes[features[f]], cards[features[f]]
        rows = kept[first_row:]
        n_known = 0
        for q in range(n_rows):
            if own[q] < r:
                rows[n_known] = q
                n_known += 1
        roots[f] = n_nodes
        level, ends = 0, n_nodes + 1
        nodes, n_nodes = with_node(nodes, n_nodes, 0, n_known)
        node = roots[f]
        while node < n_nodes:
            if node == ends:  # nodes are in the order of levels
                level, ends = level + 1, n_nodes
            begin, end = nodes[node, 0], nodes[node, 1]
            if level == 0 or end - begin > most_rows:
                size = n_classes * (r + 1)
                counts = grown(counts, n_counts + size)
                counts[n_counts : n_counts + size] = 0.0
                for i in range(begin, end):
                    q = rows[i]
                    counts[n_counts + own[q] * n_classes + classes[q]] += weights[q]
                    counts[n_counts + r * n_classes + classes[q]] += weights[q]
                nodes[node, 3] = n_counts
                n_counts += size
                if level < depths[f]:
                    parent = parents[f, level]
                    card, values = cards[parent], codes[parent]
                    children = grown(children, n_children + card)
                    nodes[node, 2] = n_children
                    ends_of = sort_by(values, card, rows, begin, end, spare)
                    for v in range(card):
                        first = begin if v == 0 else ends_of[v - 1]
                        children[n_children + v] = -1
                        if ends_of[v] > first:
                            children[n_children + v] = n_nodes
                            nodes, n_nodes = with_node(nodes, n_nodes, first, ends_of[v])
                    n_children += card
            node += 1
        for node in range(roots[f], n_nodes):
            nodes[node, 0] += first_row
            nodes[node, 1] += first_row
        first_row += n_known
    return (
        nodes[:n_nodes].copy(),
        children[:n_children].copy(),
        counts[:n_counts].copy(),
        kept[:first_row].copy(),
        roots,
    )


@part
def shrink_towards(theta, i, cells, first_cell, totals, first_total, smoothing, r):
    """One step along the chain: theta[i] of the level above becomes that of this level, in each class.

    ``cells`` and ``totals`` are read from a place on: to slice arrays takes longer than what is done with them.
    """
    shrink, deep = smoothing[1], smoothing[2]
    for c in range(theta.shape[1]):
        total = totals[first_total + c] + shrink + deep * r
        if total > 0:
            theta[i, c] = (cells[first_cell + c] + shrink * theta[i, c] + deep) / total


@part
def few_rows(
    codes, i, f, own, level, cards, parents, depths, begin, end, rows, train, classes, weights, smoothing, theta, cells,
    totals, active,
):  # fmt: skip
    """The rest of a chain from the rows of a node, which has no counts."""
    n = 0
    for j in range(begin, end):
        active[n] = rows[j]
        n += 1
    while n > 0:
        cells[:] = 0.0
        totals[:] = 0.0
        for j in range(n):
            q = active[j]
            totals[classes[q]] += weights[q]
            if train[own, q] == codes[own, i]:
                cells[classes[q]] += weights[q]
        shrink_towards(theta, i, cells, 0, totals, 0, smoothing, cards[own])
        level += 1
        if level >= depths[f] or codes[parents[f, level], i] >= cards[parents[f, level]]:
            return
        parent, kept = parents[f, level], 0
        for j in range(n):
            if train[parent, active[j]] == codes[parent, i]:
                active[kept] = active[j]
                kept += 1
        n = kept


@njit(cache=True, nogil=True)
def family_table(
    codes, cards, f, own, parents, depths, nodes, children, counts, rows, roots, most_rows, train, classes, weights,
    smoothing, estimated, theta,
):  # fmt: skip
    """P(x | c, parents) of one family into ``theta``, for the states of features in ``codes``, in each class.

    Both are row by row. Rows that miss the feature itself are left out. With ``estimated``, the counts are the
    probabilities themselves. The loop over rows is in here because a call with so many arrays takes longer than a row.
    """
    n_classes, r = theta.shape[1], cards[own]
    cells, totals = np.empty(n_classes), np.empty(n_classes)
    active = np.empty(max(1, most_rows), dtype=np.int64)
    for i in range(codes.shape[1]):
        x = np.int64(codes[own, i])
        if x >= r:
            continue
        node = roots[f]
        at = nodes[node, 3]
        for c in range(n_classes):
            cell, total = counts[at + x * n_classes + c], counts[at + r * n_classes + c] + smoothing[0] * r
            if estimated:
                theta[i, c] = cell
            else:
                theta[i, c] = (cell + smoothing[0]) / total if total > 0 else 1.0 / r
        for level in range(depths[f]):
            value = np.int64(codes[parents[f, level], i])
            if value >= cards[parents[f, level]]:
                break
            node = children[nodes[node, 2] + value]
            if node < 0:
                break
            at = nodes[node, 3]
            if at < 0:
                few_rows(codes, i, f, own, level, cards, parents, depths, nodes[node, 0], nodes[node, 1], rows, train,
                         classes, weights, smoothing, theta, cells, totals, active)  # fmt: skip
                break
            if estimated:
                for c in range(n_classes):
                    theta[i, c] = counts[at + x * n_classes + c]
            else:
                shrink_towards(theta, i, counts, at + x * n_classes, counts, at + r * n_classes, smoothing, r)


@njit(cache=True, nogil=True)
def predict_rows(
    codes, cards, features, parents, depths, nodes, children, counts, rows, roots, most_rows, train, classes, weights,
    smoothing, estimated, log_prior, proba, log_evidence,
):  # fmt: skip
    """P(class | features) of rows by one member, and log P(features), of the features that it uses."""
    n_rows, n_classes = codes.shape[1], log_prior.size
    prior, theta = np.exp(log_prior), np.empty((n_rows, n_classes))
    for i in range(n_rows):
        log_evidence[i] = 0.0
        for c in range(n_classes):
            proba[i, c] = prior[c]
    for f in range(features.size):
        own = features[f]
        family_table(
            codes, cards, f, own, parents, depths, nodes, children, counts, rows, roots, most_rows, train, classes,
            weights, smoothing, estimated, theta,
        )  # fmt: skip
        for i in range(n_rows):
            if codes[own, i] >= cards[own]:
                continue
            total = 0.0
            for c in range(n_classes):
                proba[i, c] *= theta[i, c]
                total += proba[i, c]
            if total < TINY:
                log_evidence[i] += math.log(total) if total > 0 else -math.inf
                for c in range(n_classes):
                    proba[i, c] = proba[i, c] / total if total > 0 else prior[c]
    for i in range(n_rows):
        total = 0.0
        for c in range(n_classes):
            total += proba[i, c]
        log_evidence[i] += math.log(total) if total > 0 else -math.inf
        for c in range(n_classes):
            proba[i, c] = proba[i, c] / total if total > 0 else 1.0 / n_classes
