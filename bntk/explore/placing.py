"""Where the explorer draws nodes and arcs: boxes with a row for each state, in our own layout, y downwards."""

from __future__ import annotations

from typing import Any

from bntk.data.variable import Variable
from bntk.graph.layout import layered_layout
from bntk.network import BayesianNetwork
from bntk.viz.scene import one_line, text_width

#: Heights in pixels: of the name, of a state, of the space at the border; and how many states are shown at most.
HEAD, ROW, PAD, MOST_ROWS = 26, 18, 6, 8
#: Room beside the text of a state: for a sign before it, for its bar and its probability.
SIGN, BAR, PROBABILITY = 26, 64, 46
#: The widest text of a state or a name; longer ones are shortened by the page.
WIDEST_STATE, WIDEST_NAME = 110.0, 200.0
NAME_SIZE, STATE_SIZE = 13.0, 11.5


def placed(network: BayesianNetwork) -> dict[str, Any]:
    """Centres and sizes of boxes, and the curves of arcs, for the page; whole pixels."""
    dag = network.dag
    sizes = {variable.name: box_size(variable) for variable in network.variables}
    found = layered_layout(dag, sizes, gap=22.0, layer_gap=46.0)
    routes = []
    for (parent, child), curve in found.routes.items():
        routes.append([dag.index(parent), dag.index(child), *(round(z) for x, y in curve for z in (x, -y))])
    return {
        "box": {"head": HEAD, "row": ROW, "pad": PAD, "rows": MOST_ROWS},
        "positions": [[round(found.positions[name][0]), round(-found.positions[name][1])] for name in dag.nodes],
        "sizes": [list(sizes[name]) for name in dag.nodes],
        "routes": routes,
    }


def box_size(variable: Variable) -> tuple[int, int]:
    """Width and height of the box of a variable: its name, and a row for each state that is shown."""
    texts = [text_width(one_line(str(state)), STATE_SIZE) for state in variable.states[:MOST_ROWS]]
    name = text_width(one_line(variable.name), NAME_SIZE, bold=True)
    width = max(min(max(texts), WIDEST_STATE) + SIGN + BAR + PROBABILITY, min(name, WIDEST_NAME) + 24) + 2 * PAD
    more = variable.n_states > MOST_ROWS
    rows = min(variable.n_states, MOST_ROWS) + more
    return 2 * round(width / 2), HEAD + ROW * rows + PAD
