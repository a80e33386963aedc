"""Mach and Mráz, "Quality measures for Bayesian network classifier design": which score should choose the structure?

python -m benchmarks.reproduce_quality_measures DATA [--quick] [--terms 200] [--picture FILE] [--json FILE]

DATA is a file of one JSON object a line, with the split (ModApte: train or test), topics, title and body of each
document of Reuters-21578; gzipped or not. The texts are prepared as in the paper: stop words out, Porter's stems,
categories of at least a hundred documents, terms in at least five documents, of these the 200 with the largest
information gain, each present or absent. STAN and STAND are then learned from the training documents with global scores
(HGC, SB) and local ones (LC, LOO, CV), and judged by precision and recall on the test documents, the mean over the
categories. What came out is in docs/quality-measures.md.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.metrics import precision_recall_fscore_support

import bntk
from bntk.learning.scores import CV, HGC, LC, LOO, SB, Score

Right = NDArray[np.bool_]

LEAST_DOCUMENTS, LEAST_FREQUENCY = 100, 5
# LC reads the rows one by one: in the order of the collection, that is by date.
SCORES: dict[str, Score] = {"HGC": HGC(), "SB": SB(alpha=2), "LC": LC(), "LOO": LOO(), "CV": CV(folds=10)}
LOCAL = ("LC", "LOO", "CV")

# ---- Porter's stemmer ------------------------------------------------------------------------------------------------
#
# M. F. Porter (1980). An algorithm for suffix stripping. Program 14, 130-137. A word is [C](VC)^m[V], with C and V runs
# of consonants and vowels; a suffix is replaced when the stem before it has a large enough measure m.

STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "abli": "able", "alli": "al",
    "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
)  # fmt: skip


def kinds(word: str) -> str:
    """A letter for each one of a word: v for a vowel, c for a consonant; y is a vowel after a consonant."""
    found = ""
    for place, letter in enumerate(word):
        is_vowel = letter in "aeiou" or (letter == "y" and place > 0 and found[-1] == "c")
        found += "v" if is_vowel else "c"
    return found


def measure(stem: str) -> int:
    return len(re.findall("v+c+", kinds(stem)))


def ends_short(stem: str) -> bool:
    """Consonant, vowel, consonant at the end, the last not w, x or y: such stems have lost an e."""
    return kinds(stem).endswith("cvc") and stem[-1] not in "wxy"


def replaced(word: str, rules: dict[str, str], least: int) -> str:
    """The word with the longest suffix that has a rule replaced, if the measure of what is before exceeds ``least``."""
    for suffix in sorted(rules, key=len, reverse=True):
        if word.endswith(suffix):
            stem = word.removesuffix(suffix)
            return stem + rules[suffix] if measure(stem) > least else word
    return word


def without_plural(word: str) -> str:
    for suffix, instead in (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")):
        if word.endswith(suffix):
            return word.removesuffix(suffix) + instead
    return word


def without_ed_and_ing(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        stem = word.removesuffix(suffix)
        if word.endswith(suffix) and "v" in kinds(stem):
            if stem.endswith(("at", "bl", "iz")):
                return stem + "e"
            if kinds(stem).endswith("cc") and stem[-1] == stem[-2] and stem[-1] not in "lsz":
                return stem[:-1]
            return stem + "e" if measure(stem) == 1 and ends_short(stem) else stem
    return word


def without_last_suffix(word: str) -> str:
    for suffix in sorted(STEP_4, key=len, reverse=True):
        if word.endswith(suffix):
            stem = word.removesuffix(suffix)
            fits = measure(stem) > 1 and (suffix != "ion" or stem.endswith(("s", "t")))
            return stem if fits else word
    return word


def tidy(word: str) -> str:
    """Without a last e, and with a single l at the end, after long stems."""
    if word.endswith("e"):
        stem = word[:-1]
        if measure(stem) > 1 or (measure(stem) == 1 and not ends_short(stem)):
            word = stem
    return word[:-1] if word.endswith("ll") and measure(word) > 1 else word


def stem(word: str) -> str:
    """Porter's stem of a word in small letters.

    >>> [stem(w) for w in ("relational", "conditional", "hopping", "hoping", "agreed", "probate", "controlling")]
    ['relat', 'condit', 'hop', 'hope', 'agre', 'probat', 'control']
    """
    if len(word) < 3:
        return word
    word = without_ed_and_ing(without_plural(word))
    if word.endswith("y") and "v" in kinds(word[:-1]):
        word = word[:-1] + "i"
    return tidy(without_last_suffix(replaced(replaced(word, STEP_2, 0), STEP_3, 0)))


# ---- documents -------------------------------------------------------------------------------------------------------


class Documents(NamedTuple):
    """Which terms occur in which documents, their categories, and which documents are for training."""

    terms: list[str]
    present: NDArray[np.bool_]
    categories: NDArray[Any]
    train: NDArray[np.bool_]

    def keep_terms(self, chosen: NDArray[np.intp]) -> Documents:
        return self._replace(terms=[self.terms[t] for t in chosen], present=self.present[:, chosen])


def read_documents(path: Path) -> Documents:
    """The documents with exactly one of the categories that have enough documents of a single topic."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        records = [record for record in map(json.loads, lines) if record["split"] in ("train", "test")]
    alone = Counter(record["topics"][0] for record in records if len(set(record["topics"])) == 1)
    kept = {topic for topic, count in alone.items() if count >= LEAST_DOCUMENTS}
    records = [record for record in records if len(kept.intersection(record["topics"])) == 1]

    stems: dict[str, str] = {}
    words = [set(re.findall("[a-z]+", f"{record['title']} {record['body']}".lower())) for record in records]
    for word in set().union(*words) - ENGLISH_STOP_WORDS:
        stems[word] = stem(word)
    found = [{stems[word] for word in some if word in stems} for some in words]
    frequency = Counter(term for some in found for term in some if len(term) > 1)
    terms = sorted(term for term, count in frequency.items() if count >= LEAST_FREQUENCY)
    place = {term: t for t, term in enumerate(terms)}
    present = np.zeros((len(records), len(terms)), dtype=bool)
    for row, some in enumerate(found):
        present[row, [place[term] for term in some if term in place]] = True
    categories = np.array([kept.intersection(record["topics"]).pop() for record in records])
    return Documents(terms, present, categories, np.array([record["split"] == "train" for record in records]))


def information_gain(present: NDArray[np.bool_], categories: NDArray[Any]) -> NDArray[np.float64]:
    """I(term; category) of each term, in nats."""
    names = np.unique(categories)
    with_term = np.array([present[categories == name].sum(axis=0) for name in names]) / len(categories)
    share = np.array([(categories == name).mean() for name in names])[:, None]
    gain = np.zeros(present.shape[1])
    for joint in (with_term, share - with_term):
        expected = share * joint.sum(axis=0)
        ratio = np.divide(joint, expected, out=np.ones_like(joint), where=joint > 0)
        gain += (joint * np.log(ratio)).sum(axis=0)
    return gain


def prepare(path: Path, n_terms: int) -> Documents:
    documents = read_documents(path)
    gain = information_gain(documents.present[documents.train], documents.categories[documents.train])
    best = np.argsort(-gain, kind="stable")[:n_terms]
    print(
        f"{len(documents.categories):,} documents ({documents.train.sum():,} train), "
        f"{len(set(documents.categories))} categories, {len(documents.terms):,} terms; {len(best)} kept: "
        f"{', '.join(documents.terms[t] for t in best[:10])} ..."
    )
    return documents.keep_terms(best)


# ---- the experiment --------------------------------------------------------------------------------------------------


class Result(NamedTuple):
    structure: str
    score: str
    precision: float
    recall: float
    f1: float
    accuracy: float
    class_arcs: int
    seconds: float


def classifiers(prior: float | str, candidates: int | None, only: set[str] | None) -> list[tuple[str, str, Any]]:
    plain = [("NB", "", bntk.NaiveBayes(prior=prior)), ("TAN", "", bntk.TAN(prior=prior))]
    selective = [
        (kind.__name__, name, kind(criterion=score, prior=prior, candidates=candidates))
        for name, score in SCORES.items()
        for kind in (bntk.STAN, bntk.STAND)
    ]
    return [case for case in [*plain, *selective] if only is None or case[1] in only]


def measure_classifier(structure: str, score: str, classifier: Any, documents: Documents) -> tuple[Result, Right]:
    """The result, and which test documents were classified right."""
    table = bntk.Table.from_columns(
        {term: np.where(column, "yes", "no") for term, column in zip(documents.terms, documents.present.T, strict=True)}
    )
    train, test = np.flatnonzero(documents.train), np.flatnonzero(~documents.train)
    began = time.perf_counter()
    classifier.fit(table.take(train), documents.categories[train])
    seconds = time.perf_counter() - began
    said, true = classifier.predict(table.take(test)), documents.categories[test]
    precision, recall, f1, _ = precision_recall_fscore_support(true, said, average="macro", zero_division=0.0)
    n_arcs = len(classifier.dag_.children(classifier.dag_.nodes[-1]))
    right = said == true
    return Result(structure, score, precision, recall, f1, float(right.mean()), n_arcs, seconds), right


def compare(right: dict[tuple[str, str], Right]) -> None:
    """Test documents that only the local, or only the global score gets right, with the sign test of McNemar."""
    for structure in ("STAN", "STAND"):
        scores = [score for kind, score in right if kind == structure]
        for local in (score for score in scores if score in LOCAL):
            for other in (score for score in scores if score not in LOCAL):
                ours, theirs = right[structure, local], right[structure, other]
                won, lost = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
                p = binomtest(won, won + lost).pvalue if won + lost else 1.0
                print(
                    f"{structure:<6} only {local:<4} right: {won:>3}   only {other:<4} right: {lost:>3}   p = {p:.2g}"
                )


def draw(results: list[Result], path: Path) -> None:
    """Precision and recall of each score, STAN beside STAND, as Figure 3 of the paper; the plain ones as lines."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "quality measures"  # the same results give the same file
    figure, panels = plt.subplots(1, 2, figsize=(8, 3), sharey=True, layout="constrained")
    names = [name for name in SCORES if any(result.score == name for result in results)]
    for panel, field in zip(panels, ("precision", "recall"), strict=True):
        for shift, marker, structure in ((-0.08, "o", "STAN"), (0.08, "s", "STAND")):
            chosen = [result for result in results if result.structure == structure]
            places = [names.index(result.score) + shift for result in chosen]
            panel.plot(places, [getattr(result, field) for result in chosen], marker, label=structure)
        for result, style in zip((result for result in results if not result.score), (":", "--")):
            panel.axhline(getattr(result, field), color="grey", linestyle=style, label=result.structure)
        panel.set_xticks(range(len(names)), [f"{n}\n{'local' if n in LOCAL else 'global'}" for n in names])
        panel.set_xlim(-0.5, len(names) - 0.5)
        panel.set_title(f"macro {field}")
        panel.grid(axis="y", alpha=0.3)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper")
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--terms", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="50 terms")
    parser.add_argument("--prior", default="1", help='of the parameters: a number, or "backoff"')
    parser.add_argument("--candidates", type=int, help="features tried at each step; all by default")
    parser.add_argument("--scores", nargs="+", choices=list(SCORES), help="only these, without NB and TAN")
    parser.add_argument("--picture", type=Path, help="draw the figure into this file")
    parser.add_argument("--json", type=Path, help="write the results, too")
    options = parser.parse_args()
    documents = prepare(options.data, 50 if options.quick else options.terms)
    prior = options.prior if options.prior.isalpha() else float(options.prior)
    print("structure  score  precision  recall     F1  accuracy  class arcs  seconds")
    results, right = [], {}
    for case in classifiers(prior, options.candidates, set(options.scores) if options.scores else None):
        result, right[case[:2]] = measure_classifier(*case, documents)
        results.append(result)
        print(
            f"{result.structure:<9}  {result.score:<5}  {result.precision:>9.3f}  {result.recall:>6.3f}  "
            f"{result.f1:>5.3f}  {result.accuracy:>8.3f}  {result.class_arcs:>10}  {result.seconds:>7.1f}",
            flush=True,
        )
        if options.json:
            options.json.write_text(json.dumps([r._asdict() for r in results], indent=1))
    compare(right)
    if options.picture:
        draw(results, options.picture)


if __name__ == "__main__":
    main()
