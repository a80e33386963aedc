"""Files with several labels a row, of Mulan and MEKA: small ones with every trait, and real ones."""

from __future__ import annotations

import csv
import gzip

import numpy as np
import pandas as pd
import pytest
from references import shared

from bntk import read_multilabel
from bntk.errors import DataError, ParseError

HEADER = """@relation {relation}
@attribute sad {{0,1}}
@attribute tempo numeric
@attribute 'loud, fast' {{1,0}}
@attribute key {{minor,major}}
@attribute mood {{calm,tense,wild}}
@data
"""
DENSE = "0,95.5,1,minor,calm\n1,?,0,?,wild\n0,120,0,major,tense\n"
SPARSE = "{1 95.5}\n{0 1, 1 ?, 2 0, 3 ?, 4 wild}\n{1 120, 2 0, 3 major, 4 tense}\n"
XML = """<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="mood"><label name="loud, fast"></label></label>
<label name="sad"/>
</labels>
"""


def write(tmp_path, rows=DENSE, relation="songs", xml=XML):
    arff, labels = tmp_path / "songs.arff", tmp_path / "songs.xml"
    arff.write_text(HEADER.format(relation=relation) + rows)
    labels.write_text(xml)
    return arff, labels


@pytest.mark.parametrize("rows", [DENSE, SPARSE], ids=["dense", "sparse"])
def test_labels_named_by_xml(tmp_path, rows):
    X, Y = read_multilabel(*write(tmp_path, rows))
    assert list(X) == ["tempo", "key"]
    assert X["tempo"].fillna(-1).tolist() == [95.5, -1, 120]
    assert X["key"].cat.categories.tolist() == ["minor", "major"]
    assert X["key"].isna().tolist() == [False, True, False]
    assert list(Y) == ["mood", "loud, fast", "sad"]  # as named, parents first
    assert Y["mood"].tolist() == ["calm", "wild", "tense"]
    assert Y["loud, fast"].tolist() == [1, 0, 0]
    assert Y["sad"].dtype == np.int64


@pytest.mark.parametrize(
    ("relation", "n_labels", "labels"),
    [
        ("'songs: -C 1'", None, ["sad"]),
        ("'songs: -C -2 -split-number 2' % half", None, ["key", "mood"]),
        ("songs", 3, ["sad", "tempo", "loud, fast"]),
        ("'songs: -C 1'", -1, ["mood"]),
    ],
)
def test_labels_counted_from_either_end(tmp_path, relation, n_labels, labels):
    arff, _ = write(tmp_path, relation=relation, rows=DENSE.replace("95.5", "95"))
    X, Y = read_multilabel(arff, n_labels=n_labels)
    assert list(Y) == labels
    assert len(X.columns) == 5 - len(labels)


def test_a_missing_label_is_not_a_number(tmp_path):
    arff, _ = write(tmp_path, rows="?,1,0,minor,calm\n1,2,0,minor,?\n")
    _, Y = read_multilabel(arff, n_labels=1)
    assert np.isnan(Y["sad"][0])
    assert Y["sad"][1] == 1
    _, Y = read_multilabel(arff, n_labels=-1)
    assert Y["mood"].isna().tolist() == [False, True]


def test_whole_numbers_that_are_written_as_fractions_are_labels(tmp_path):
    arff, _ = write(tmp_path, rows="0,1.0,0,minor,calm\n1,2,0,minor,calm\n")
    _, Y = read_multilabel(arff, n_labels=2)
    assert Y["tempo"].tolist() == [1, 2]
    assert Y["tempo"].dtype == np.int64


def test_more_distinct_numbers_than_a_variable_may_have_states(tmp_path):
    path = tmp_path / "long.arff.gz"
    rows = "".join(f"{i % 2},{i / 7}\n" for i in range(70_000))
    path.write_bytes(
        gzip.compress(f"@relation 'long: -C 1'\n@attribute y {{0,1}}\n@attribute x real\n@data\n{rows}".encode())
    )
    X, Y = read_multilabel(path)
    np.testing.assert_allclose(X["x"], np.arange(70_000) / 7)
    assert Y["y"].sum() == 35_000


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        (XML.replace('"sad"', '"glad"'), r"songs\.xml: the label 'glad' is no attribute of .*songs\.arff"),
        (XML.replace('"sad"', '"mood"'), r"songs\.xml, line 4: the label 'mood' is named twice"),
        (XML.replace('name="sad"', ""), r"songs\.xml, line 4: a <label> without a name"),
        (XML.replace("</labels>", ""), r"songs\.xml, line 6: not XML: no element found"),
        ("<labels></labels>", r"songs\.xml: there is no <label"),
        ("sad", r"songs\.xml, line 1: not XML"),
        (
            '<!DOCTYPE labels [<!ENTITY a "b"><!ENTITY c "&a;&a;&a;">]>\n<labels><label name="&c;"/></labels>',
            r"songs\.xml, line 1: a document type is not allowed",
        ),
        ('<!DOCTYPE labels SYSTEM "file:///etc/passwd">\n<labels/>', "a document type is not allowed"),
        ('<labels><label name="&sad;"/></labels>', "not XML: undefined entity"),
    ],
)
def test_lists_of_labels_that_cannot_be_used(tmp_path, xml, message):
    with pytest.raises((ParseError, DataError), match=message):
        read_multilabel(*write(tmp_path, xml=xml))


@pytest.mark.parametrize(
    ("relation", "n_labels", "message"),
    [
        ("songs", None, r"songs\.arff: which attributes are labels\?.*give xml= or n_labels="),
        ("'songs: -C 5'", None, "n_labels is 5, of 5 attributes; it must be 1 to 4"),
        ("songs", 0, "n_labels is 0"),
        ("songs", -9, "n_labels is -9"),
        ("songs", 2, "the label 'tempo' holds numbers that are not whole"),
        ("'s: -C 2-weka.filters.unsupervised.attribute.Remove-R1'", None, "changed by a filter after '-C 2'"),
    ],
)
def test_counts_of_labels_that_cannot_be_used(tmp_path, relation, n_labels, message):
    arff, _ = write(tmp_path, relation=relation)
    with pytest.raises(DataError, match=message):
        read_multilabel(arff, n_labels=n_labels)


def test_labels_are_told_in_one_way(tmp_path):
    arff, xml = write(tmp_path)
    with pytest.raises(ValueError, match="xml= or n_labels=, not both"):
        read_multilabel(arff, xml, n_labels=1)
    every = "".join(f'<label name="{name}"/>' for name in ("sad", "tempo", "loud, fast", "key", "mood"))
    xml.write_text(f"<labels>{every}</labels>")
    with pytest.raises(DataError, match="all 5 attributes are labels"):
        read_multilabel(arff, xml)


def real_files():
    names = "emotions scene yeast slashdot genbase cal500 enron medical birds flags foodtruck bibtex"
    return names.split()


@pytest.mark.parametrize("name", real_files())
def test_real_files_have_the_published_counts(name):
    folder = shared("data/multilabel")
    with open(folder / "INDEX.csv") as file:
        index = [row for row in csv.DictReader(file) if row["name"] == name]
    row = next((row for row in index if row["part"] == "all"), index[0])
    part = "" if row["part"] == "all" else f"-{row['part']}"
    X, Y = read_multilabel(folder / f"{name}{part}.arff.gz", folder / f"{name}.xml")
    numeric = sum(pd.api.types.is_numeric_dtype(dtype) for dtype in X.dtypes)
    assert (len(X), len(Y)) == (int(row["instances"]),) * 2
    assert (len(X.columns) - numeric, numeric) == (int(row["nominal_attributes"]), int(row["numeric_attributes"]))
    assert len(Y.columns) == int(row["labels"])
    assert Y.isin([0, 1]).all(axis=None)
    assert Y.to_numpy().sum() / len(Y) == pytest.approx(float(row["label_cardinality"]), abs=6e-4)
    assert len(Y.drop_duplicates()) == int(row["distinct_labelsets"])
    assert not X.isna().any(axis=None)


def test_the_labels_of_a_meka_file_are_those_of_its_header():
    folder = shared("data/multilabel")
    by_header = read_multilabel(folder / "slashdot.arff.gz")
    by_xml = read_multilabel(folder / "slashdot.arff.gz", folder / "slashdot.xml")
    for ours, theirs in zip(by_header, by_xml, strict=True):
        pd.testing.assert_frame_equal(ours, theirs)
    with pytest.raises(DataError, match="changed by a filter"):  # its labels were moved to the end
        read_multilabel(folder / "medical.arff.gz")
