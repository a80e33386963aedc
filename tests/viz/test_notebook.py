"""What shows itself in a notebook: pictures and tables, safe for any name, and never an error."""

from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import run_python
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import bntk
from bntk.viz.notebook import MOST_NODES, classifier_html

EVIL = "<script>alert('x')</script>&\"]]>"


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attributes):
        self.seen.add(tag)
        if tag not in ("br", "hr", "img", "meta", "link", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def tags_of(html):
    parser = Tags()
    parser.feed(html)
    parser.close()
    assert not parser.open
    return parser.seen


names = st.lists(st.text(min_size=1, max_size=30).filter(str.strip), min_size=1, max_size=6, unique=True)


@settings(max_examples=60, deadline=None)
@given(names)
def test_any_names_make_well_formed_svg(nodes):
    try:
        dag = bntk.DAG(nodes, list(pairwise(nodes)))
    except bntk.errors.BntkError:
        return
    root = ElementTree.fromstring(dag._repr_svg_())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    titles = [e.text for e in root.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == len(nodes) + 1


def test_names_of_nodes_are_escaped():
    picture = bntk.DAG([EVIL, "b"], [(EVIL, "b")])._repr_svg_()
    assert "<script" not in picture
    assert "&lt;script&gt;" in picture


def test_a_network_shows_every_node_and_arc():
    asia = bntk.datasets.asia()
    root = ElementTree.fromstring(asia._repr_svg_())
    texts = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]
    assert sorted(texts) == sorted(asia.names)
    heads = [e for e in root.iter("{http://www.w3.org/2000/svg}path") if e.get("d").endswith("Z")]
    assert len(heads) == asia.dag.n_arcs
    assert len(asia._repr_svg_()) < 10_000


def test_large_empty_and_odd_graphs_fall_back_to_text():
    assert bntk.DAG([])._repr_svg_() is None
    assert bntk.DAG([f"x{i}" for i in range(MOST_NODES + 1)])._repr_svg_() is None
    assert bntk.DAG([f"x{i}" for i in range(MOST_NODES)])._repr_svg_() is not None


def test_a_failing_picture_is_no_error(monkeypatch):
    monkeypatch.setattr("bntk.viz.notebook.dag_scene", lambda *a, **k: 1 / 0)
    assert bntk.datasets.asia()._repr_svg_() is None


def test_reprs_open_no_figure():
    import matplotlib.pyplot as plt

    bntk.datasets.asia()._repr_svg_()
    classifier()._repr_html_()
    assert plt.get_fignums() == []


def test_a_picture_for_a_notebook_needs_no_matplotlib():
    code = "import sys, bntk; assert bntk.datasets.asia()._repr_svg_(); print('matplotlib' in sys.modules)"
    assert run_python(code).stdout.strip() == "False"


# ---- distributions ---------------------------------------------------------------------------------------------------


def test_a_distribution_is_a_table_of_bars():
    lung = bntk.datasets.asia().query("lung", {"xray": "yes"})
    html = lung._repr_html_()
    assert {"table", "caption", "td", "div"} <= tags_of(html)
    for p in lung.values:
        assert f"width:{100 * p:.4g}%" in html
    assert "P(lung | xray=&#x27;yes&#x27;)" in html


def test_states_and_names_of_distributions_are_escaped():
    x = bntk.Variable(EVIL, [EVIL, "b"])
    y = bntk.Variable("y", ["<i>", "&"])
    network = bntk.BayesianNetwork.from_cpts([bntk.CPT(x, [0.5, 0.5]), bntk.CPT.uniform(y, [x])])
    for shown in (network.query(EVIL), network.query([EVIL, "y"]), network.marginals({"y": "<i>"})):
        html = shown._repr_html_()
        assert "<script" not in html
        assert "<i>" not in html
        tags_of(html)


# ---- classifiers -----------------------------------------------------------------------------------------------------


def data(n_features=4):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    X = pd.DataFrame({f"f{i}": (y + rng.integers(0, 2, 120)).astype(str) for i in range(n_features)})
    return X, pd.Series(np.where(y, "ill", "well"), name=EVIL)


def classifier():
    return bntk.TAN().fit(*data())


@pytest.mark.parametrize("family", [bntk.NaiveBayes, bntk.TAN, bntk.KDB])
def test_a_fitted_classifier_shows_its_network_below_what_scikit_learn_shows(family):
    fresh = family()
    assert "<svg" not in classifier_html(fresh)
    theirs = fresh._repr_html_()
    fitted = family().fit(*data())
    html = fitted._repr_html_()
    assert "sk-top-container" in theirs
    assert "sk-top-container" in html
    picture = html[html.rindex('<svg xmlns="http://www.w3.org/2000/svg" width') : html.rindex("</svg>") + 6]
    root = ElementTree.fromstring(picture)
    boxes = [e for e in root.iter("{http://www.w3.org/2000/svg}rect") if len(e)]
    assert len(boxes) == 5
    assert "<script>alert" not in html
    assert fitted._repr_mimebundle_()["text/html"].count("<svg xmlns") == html.count("<svg xmlns")


def test_where_scikit_learn_displays_text_there_is_no_html():
    fitted = classifier()
    with sklearn.config_context(display="text"):
        assert "text/html" not in fitted._repr_mimebundle_()
        assert not hasattr(fitted, "_repr_html_")
        assert repr(fitted) == "TAN()"


def test_a_classifier_in_a_pipeline_still_shows():
    model = make_pipeline(FunctionTransformer(), bntk.NaiveBayes()).fit(*data())
    assert "NaiveBayes" in model._repr_html_()


def test_several_classes_and_parts_are_shown():
    X, y = data()
    Y = pd.DataFrame({"one": y, "two": y[::-1].to_numpy()})
    both = bntk.MDBNC().fit(X, Y)
    html = classifier_html(both)
    from bntk.viz import style

    assert html.count(f'fill="{style.TARGET.fill}"') == 2
    parts = classifier_html(bntk.BinaryRelevance().fit(X, Y))
    assert parts.count("<details>") == 2
    tags_of(parts)


def test_a_classifier_of_many_features_shows_text_instead():
    X, y = data(MOST_NODES + 1)
    html = classifier_html(bntk.NaiveBayes().fit(X, y))
    assert html.startswith("<div")
    assert "<svg" not in html
    assert "102 variables" in html
