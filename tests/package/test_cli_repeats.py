"""A repeated option adds to what it said before, or is refused; nothing that was written is lost."""

import argparse

import pytest

from bntk.cli.entry import COMMANDS, parser
from bntk.cli.options import Stored


def options_of(command):
    [several] = [a for a in parser(command)._actions if isinstance(a, argparse._SubParsersAction)]
    return [action for action in several.choices[command]._actions if action.option_strings]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_every_command_is_stored_in_one_way(command):
    flags = (argparse._StoreTrueAction, argparse._HelpAction)
    assert all(isinstance(action, (Stored, *flags)) for action in options_of(command))


SAME = [
    ("query asia lung --given xray=yes --given smoke=yes", "query asia lung --given xray=yes smoke=yes"),
    ("query asia lung --soft xray=.2,.8 --soft dysp=.5,.1", "query asia lung --soft xray=.2,.8 dysp=.5,.1"),
    ("query asia --mpe --given xray=yes --given dysp=no", "query asia --mpe --given xray=yes dysp=no"),
    ("sample asia -n 9 --given xray=yes --given dysp=no", "sample asia -n 9 --given xray=yes dysp=no"),
    ("info asia.csv --ignore lung --ignore tub,xray", "info asia.csv --ignore lung,tub,xray"),
    ("info asia.csv --na yes --na perhaps", "info asia.csv --na yes,perhaps"),
    (
        "learn asia.csv --json --required 'smoke->xray' --required 'asia->dysp'",
        "learn asia.csv --json --required 'smoke->xray' 'asia->dysp'",
    ),
    (
        "learn asia.csv --json --forbidden 'smoke->lung' 'lung->smoke' --forbidden 'either->xray'",
        "learn asia.csv --json --forbidden 'smoke->lung' 'lung->smoke' 'either->xray'",
    ),
    (
        "learn asia.csv --json --tiers dysp,xray --tiers smoke,lung",
        "learn asia.csv --json --tiers dysp,xray smoke,lung",
    ),
    (
        "learn asia.csv --json --target lung --target bronc --model br",
        "learn asia.csv --json --target lung,bronc --model br",
    ),
    (
        "evaluate asia.csv --json --target dysp --model nb --model tan --folds 3 --metrics auc --metrics brier",
        "evaluate asia.csv --json --target dysp --model nb tan --folds 3 --metrics auc brier",
    ),
    (
        "predict dysp.json new.csv --keep smoke --keep lung,asia",
        "predict dysp.json new.csv --keep smoke,lung,asia",
    ),
    ("plot asia --given xray=yes --given dysp=no -o a.svg", "plot asia --given xray=yes dysp=no -o a.svg"),
    ("plot asia --target lung --target tub -o a.svg", "plot asia --target lung,tub -o a.svg"),
]  # fmt: skip


@pytest.mark.parametrize(("repeated", "at_once"), SAME, ids=[line for line, _ in SAME])
def test_an_option_that_is_repeated_says_the_same_as_its_words_at_once(repeated, at_once, folder, terminal):
    def outcome(line):
        code, out, err = terminal("bntk " + line)
        assert code == 0, err
        told = "\n".join(text for text in out.splitlines() if "seconds" not in text)
        return told, (folder / "a.svg").read_bytes() if "-o a.svg" in line else b""

    assert outcome(repeated) == outcome(at_once)


REFUSED = [
    ("query asia lung --given smoke=yes --given smoke=no", "smoke=yes and smoke=no"),
    ("query asia lung --given smoke=yes --given smoke=yes", "'smoke' twice"),
    ("query asia lung --soft smoke=1,2 --soft smoke=2,1", "smoke=1,2 and smoke=2,1"),
    ("query asia lung --engine exact --engine gibbs", "exact and gibbs"),
    ("sample asia -n 3 --rows 4", "3 and 4"),
    ("sample asia --seed 0 --seed 1", "0 and 1"),
    ("sample asia --seed 1 --seed 0", "1 and 0"),
    ("sample asia -o a.csv --output b.csv", "a.csv and b.csv"),
    ("learn asia.csv --prior 1 --prior 0.5", "1 and 0.5"),
    ("learn asia.csv --prior bdeu:1 --prior backoff", "bdeu:1 and backoff"),
    ("learn asia.csv --score bic --score bdeu:10", "bic and bdeu:10"),
    ("learn asia.csv --target dysp --model tan --model kdb:k=3", "tan and kdb:k=3"),
    ("learn asia.csv --target dysp --model kdb:k=2,k=3", "k twice"),
    ("learn asia.csv --target dysp --model ban:score=bic,criterion=bdeu", "twice"),
    ("evaluate asia.csv --target dysp --model nb --model nb", "twice"),
    ("evaluate asia.csv --target dysp --target dysp", "twice"),
    ("evaluate asia.csv --target dysp --folds 3 --folds 5", "3 and 5"),
    ("info asia.csv --sep , --sep ;", ", and ;"),
]


@pytest.mark.parametrize(("line", "named"), REFUSED, ids=[line for line, _ in REFUSED])
def test_what_has_one_value_is_refused_when_it_is_given_twice(line, named, folder, terminal):
    before = sorted(folder.iterdir())
    code, out, err = terminal("bntk " + line)
    assert (code, out) == (2, "")
    assert named in err
    assert err.count("\n") == 1
    assert sorted(folder.iterdir()) == before


def test_a_cost_that_is_given_twice_is_refused(folder, terminal):
    (folder / "twice.csv").write_text("true,no,yes\nno,0,1\nyes,5,0\nno,0,2\n")
    code, _, err = terminal("bntk predict dysp.json new.csv --costs twice.csv")
    assert (code, "'no'" in err, "twice" in err) == (1, True, True)
