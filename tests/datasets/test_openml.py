from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from urllib.error import URLError

import pandas as pd
import pytest
import sklearn.datasets
from references import shared

import bntk
from bntk.datasets import car, fetch, fetchable
from bntk.datasets.openml import SETS
from bntk.errors import DataError, UnknownNameError


def keep(folder: Path, name: str, content: str) -> None:
    path = folder / "openml" / "openml.org" / f"{name}.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content.encode()))


def keep_car(folder: Path) -> None:
    """What OpenML says of its data set 21, as scikit-learn keeps it on disk, with the rows of the model."""
    X, y = car()
    frame = X.assign(**{"class": y}).astype(str)
    states = {name: sorted(frame[name].unique()) for name in frame}
    url = "https://www.openml.org/data/v1/download/21/car.arff"
    description = {"id": "21", "name": "car", "version": "1", "format": "ARFF", "status": "active", "file_id": "21"}
    description |= {"default_target_attribute": "class", "visibility": "public", "url": url}
    features = [
        {
            "index": str(i),
            "name": name,
            "data_type": "nominal",
            "nominal_value": states[name],
            "is_target": str(name == "class").lower(),
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": "0",
        }
        for i, name in enumerate(frame)
    ]
    qualities = [{"name": "NumberOfInstances", "value": str(len(frame))}]
    header = [f"@ATTRIBUTE {name} {{{','.join(states[name])}}}" for name in frame]
    lines = ["@RELATION car", *header, "@DATA", *(",".join(row) for row in frame.itertuples(index=False))]
    arff = "\n".join(lines) + "\n"
    description["md5_checksum"] = hashlib.md5(arff.encode()).hexdigest()
    keep(folder, "api/v1/json/data/21", json.dumps({"data_set_description": description}))
    keep(folder, "api/v1/json/data/features/21", json.dumps({"data_features": {"feature": features}}))
    keep(folder, "api/v1/json/data/qualities/21", json.dumps({"data_qualities": {"quality": qualities}}))
    for name in ("data/v1/download/21/car.arff", "data/v1/download/21"):  # the second up to scikit-learn 1.6
        keep(folder, name, arff)


def test_what_is_on_disk_is_read_without_a_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_car(tmp_path)
    monkeypatch.setattr("sklearn.datasets._openml.urlopen", lambda *_: pytest.fail("asked for a connection"))
    X, y = fetch("car", data_home=tmp_path)
    ours = car()
    assert all(isinstance(dtype, pd.CategoricalDtype) for dtype in [*X.dtypes, y.dtype])
    assert X.astype(str).equals(ours[0].astype(str))
    assert y.astype(str).tolist() == ours[1].astype(str).tolist()
    assert bntk.NaiveBayes().fit(X, y).score(X, y) > 0.8


def test_without_a_connection_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(**_: object) -> None:
        raise URLError("Name or service not known")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", unreachable)
    with pytest.raises(DataError, match=r"'vote' could not be fetched .*Name or service.*copy that folder"):
        fetch("vote")


@pytest.mark.parametrize("name", ["vote", "iris"])
def test_it_asks_for_the_number_of_the_set(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = {}

    def answer(**options: object) -> tuple[pd.DataFrame, pd.Series]:
        asked.update(options)
        wanted = SETS[name]
        X = pd.DataFrame({f"x{i}": pd.Categorical(["u"] * wanted.rows) for i in range(wanted.features)})
        states = [f"c{i % wanted.classes}" for i in range(wanted.rows)]
        return X, pd.Series(pd.Categorical(states, categories=[*sorted(set(states)), "unused"]), name="Class")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", answer)
    _, y = fetch(name, data_home=tmp_path)
    assert asked["data_id"] == {"vote": 56, "iris": 61}[name]
    assert asked["data_home"] == str(tmp_path)
    assert "unused" not in y.cat.categories


def test_another_data_set_under_the_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = pd.DataFrame({"x": [1, 2, 3]}), pd.Series(["a", "b", "a"])
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **_: answer)
    with pytest.raises(DataError, match=r"data set 62 of OpenML is not the 'zoo' expected: it has 3 rows, 1 features"):
        fetch("zoo")


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"no data set 'cars' to fetch; did you mean 'car'.; there are adult"):
        fetch("cars")
    assert len(set(SETS.values())) == len({each.data_id for each in SETS.values()}) == len(fetchable())


def test_sizes_are_those_of_the_files_from_the_repository() -> None:
    index = pd.read_csv(shared("data/uci/INDEX.csv")).set_index("name")
    elsewhere = {
        "credit-approval": "crx",
        "credit-g": "german",
        "heart-c": "cleve",
        "lymph": "lymphography",
        "postoperative-patient-data": "postoperative",
        "vowel": "vowel-context",
        "waveform-5000": "waveform-40",
    }
    compared = 0
    for name, wanted in SETS.items():
        if name == "satimage":  # OpenML has five rows fewer
            continue
        row = index.loc[elsewhere.get(name, name)]
        assert wanted[1:] == (row["rows"], row["attributes"], row["classes"]), name
        compared += 1
    assert compared == len(SETS) - 1


@pytest.mark.parametrize("name", ["kr-vs-kp", "zoo", "adult", "iris", "anneal"])
def test_numbers_are_those_of_the_descriptions_that_scikit_learn_carries(name: str) -> None:
    number = SETS[name].data_id
    folder = Path(sklearn.datasets.__file__).parent / "tests" / "data" / "openml" / f"id_{number}"
    path = folder / f"api-v1-jd-{number}.json.gz"
    if not path.exists():
        pytest.skip("this scikit-learn comes without its tests")
    assert json.loads(gzip.decompress(path.read_bytes()))["data_set_description"]["name"] == name
