import io
import re
import struct
import subprocess
import sys

import pytest

import bntk
from bntk._declared import CLASSIFIERS, FORMATS, MULTI_CLASSIFIERS, SCORES, SEARCHES
from bntk.cli import main
from bntk.cli.entry import COMMANDS, load


def test_the_demo_learns_prints_and_draws(tmp_path, capsys):
    picture = tmp_path / "asia.png"
    assert main(["demo", "--rows", "3000", "--picture", str(picture)]) == 0
    out = capsys.readouterr().out
    lines = re.findall(r"^  (.{28}).* (-\d+\.\d+)$", out, flags=re.MULTILINE)
    nats = {name.strip(): float(number) for name, number in lines}
    assert nats["no arcs"] < nats["dysp -> all (naive Bayes)"] < nats["the arcs found"]
    assert nats["the arcs found"] <= nats["the network itself"]
    width, height = struct.unpack(">II", picture.read_bytes()[16:24])
    assert width > 200
    assert height > 200
    assert "\nP(dysp | bronc, either), learned and true" in out


def test_the_demo_says_the_same_twice(tmp_path, capsys):
    texts = []
    for _ in range(2):
        main(["demo", "--rows", "500", "--picture", str(tmp_path / "x.png")])
        texts.append(re.sub(r" *\d+\.\d+ s\b", "", capsys.readouterr().out))
    assert "NaiveBayes" in texts[0]
    assert texts[0] == texts[1]


# ---- names -----------------------------------------------------------------------------------------------------------


def test_every_classifier_of_the_package_has_a_name_for_the_command():
    bases = {"BayesClassifier", "NetworkClassifier"}
    named = CLASSIFIERS.classes.keys() | MULTI_CLASSIFIERS.classes.keys()
    assert named == {name for name in bntk.classifiers.__all__ if name not in bases}


def test_help_tells_of_every_model_score_search_and_format(capsys):
    main(["learn", "--help"])
    words = capsys.readouterr().out.replace(",", " ").split()
    assert {*CLASSIFIERS, *MULTI_CLASSIFIERS, *SCORES, *SEARCHES} <= {word.rstrip(";") for word in words}
    main(["convert", "--help"])
    assert {*FORMATS.helps} <= {*capsys.readouterr().out.split()}


# ---- errors ----------------------------------------------------------------------------------------------------------


def make_bad_files(folder):
    (folder / "empty.csv").write_text("")
    (folder / "header.csv").write_text("a,b\n")
    (folder / "ragged.csv").write_text("a,b\n1,2\n3\n")
    (folder / "quote.csv").write_text('a,b\n1,"2\n')
    (folder / "binary.csv").write_bytes(bytes(range(256)) * 4)
    (folder / "binary.bif").write_bytes(bytes(range(256)) * 4)
    (folder / "broken.json").write_text('{"format": ')
    (folder / "other.json").write_text("[1, 2]")
    (folder / "broken.bif").write_text("network x {} variable y {")
    (folder / "one.csv").write_text("x,c\n1,a\n2,a\n")
    (folder / "regression.csv").write_text("x,c\n1,0.5\n2,1.5\n")
    (folder / "lopsided.csv").write_text("true,no\nno,0\nyes,1\n")
    (folder / "shapes.bif").mkdir()


BAD = [
    # line, exit code, and what the message must name
    ("info absent.csv", 1, "absent.csv"),
    ("info absent.bif", 1, "absent.bif"),
    ("info asai", 1, "did you mean 'asia'"),
    ("info rows.docx", 1, "rows.docx"),
    ("info empty.csv", 1, "empty"),
    ("info header.csv", 1, "no rows"),
    ("info ragged.csv", 1, "line 3"),
    ("info quote.csv", 1, "line 2"),
    ("info binary.csv", 1, "binary.csv"),
    ("info binary.bif", 1, "binary.bif"),
    ("info broken.json", 1, "broken.json"),
    ("info other.json", 1, "other.json"),
    ("info broken.bif", 1, "line 1"),
    ("info shapes.bif", 1, "shapes.bif"),
    ("info asia.csv --ignore lugn", 1, "did you mean 'lung'"),
    ("learn absent.csv", 1, "absent.csv"),
    ("learn asia -o x.bif", 1, "suffix"),
    ("learn asia.csv -o absent/x.bif", 1, "absent"),
    ("learn asia.csv -o x.docx", 1, ".docx"),
    ("learn asia.csv -o shapes.bif", 1, "folder"),
    ("learn asia.csv --target dysp -o x.bif", 1, ".json"),
    ("learn asia.csv --target dsyp", 1, "did you mean 'dysp'"),
    ("learn asia.csv --target dysp --model tna", 2, "did you mean 'tan'"),
    ("learn asia.csv --model tan", 2, "--target"),
    ("learn asia.csv --target dysp --model tree", 2, "without a target"),
    ("learn asia.csv --target dysp --model mdbnc", 2, "several"),
    ("learn asia.csv --target lung,bronc --model tan", 2, "one class"),
    ("learn asia.csv --target lung,lung --model br", 2, "twice"),
    ("learn asia.csv --target dysp --model kdb:kk=3", 2, "did you mean 'k'"),
    ("learn asia.csv --target dysp --model nb --max-parents 2", 2, "--max-parents"),
    ("learn asia.csv --target dysp --model tan --required 'lung->xray'", 2, "--required"),
    ("learn asia.csv --target dysp --costs x", 2, "--costs"),
    ("learn asia.csv --score bicc", 2, "did you mean 'bic'"),
    ("learn asia.csv --score bic:3", 1, "no number"),
    ("learn asia.csv --prior -1", 2, "--prior"),
    ("learn asia.csv --prior mle:5", 2, "--prior"),
    ("learn asia.csv --prior backoff:x", 2, "--prior"),
    ("learn asia.csv --prior backoff:-3", 1, "rows"),
    ("learn asia.csv --prior hdp:3", 1, "no number"),
    ("learn asia.csv --missing state", 2, "classifiers"),
    ("learn asia.csv --max-parents -1", 2, "--max-parents"),
    ("learn asia.csv --required smoke-lung", 2, "a->b"),
    ("learn asia.csv --required 'smoke->lugn'", 1, "did you mean 'lung'"),
    ("learn asia.csv --required 'smoke->lung' 'lung->smoke'", 1, "smoke"),
    ("learn measured.csv --numeric mdl", 2, "--target"),
    ("learn measured.csv --numeric smooth:8", 2, "--target"),
    ("learn measured.csv --target kind --numeric smooth:0", 2, "--numeric"),
    ("learn measured.csv --target kind --numeric smooth:jont", 2, "--numeric"),
    ("learn measured.csv --target kind --numeric smoth", 2, "did you mean 'smooth'"),
    ("learn measured.csv --target weight", 1, "weight"),
    ("learn one.csv --target c", 1, "one class"),
    ("learn regression.csv --target c", 1, "0.5"),
    ("fit asia ragged.csv", 1, "line 3"),
    ("fit asia measured.csv", 1, "none of the columns"),
    ("fit 'a -> b' asia.csv", 1, "'a'"),
    ("fit 'a -> ' asia.csv", 1, "arrow"),
    ("evaluate asia.csv", 2, "--target"),
    ("evaluate asia.csv --target dysp --folds 1", 1, "--folds"),
    ("evaluate asia.csv --target dysp --folds 601", 1, "--folds"),
    ("evaluate asia.csv --target dysp --metrics acuracy", 2, "did you mean 'accuracy'"),
    ("evaluate asia.csv --target dysp --metrics jaccard", 2, "one class"),
    ("evaluate asia.csv --target dysp --model nb nb", 2, "twice"),
    ("evaluate asia.csv asia.csv --target dysp", 2, "twice"),
    ("evaluate asia.csv --target dysp --holdout 0", 1, "above 0"),
    ("evaluate asia.csv --target dysp --relearn nothing", 2, "parameters"),
    ("evaluate asia.csv --target dysp --plot x.gif", 1, ".png"),
    ("evaluate asia.csv --target lung,bronc --model br --relearn parameters", 1, "relearn"),
    ("predict absent.json new.csv", 1, "absent.json"),
    ("predict dysp.json measured.csv", 1, "none of the columns"),
    ("predict dysp.json new.csv --target lung", 2, "dysp"),
    ("predict dysp.json new.csv --keep lugn", 1, "did you mean 'lung'"),
    ("predict dysp.json new.csv --costs lopsided.csv", 1, "'yes'"),
    ("predict dysp.json new.csv --costs asia.csv", 1, "asia.csv"),
    ("predict dysp.json new.csv -o x.docx", 1, ".docx"),
    ("predict asia new.csv", 2, "--target"),
    ("query asia lung --given smoke=yes smoke=no", 2, "'smoke' twice"),
    ("query asia lung --soft smoke=1,2 smoke=2,1", 2, "'smoke' twice"),
    ("sample asia -n 2 --given smoke=yes smoke=yes", 2, "'smoke' twice"),
    ("predict asia new.csv --target lugn", 1, "did you mean 'lung'"),
    ("query asia lugn", 1, "did you mean 'lung'"),
    ("query asia lung --given xray", 1, "NAME=STATE"),
    ("query asia lung --given xray=yess", 1, "did you mean 'yes'"),
    ("query asia lung --given xrai=yes", 1, "did you mean 'xray'"),
    ("query asia lung --given tub=yes either=no", 1, "impossible"),
    ("query asia lung --soft xray=1", 1, "no, yes"),
    ("query asia lung --soft xray=a,b", 1, "no, yes"),
    ("query asia lung --probability", 2, "--probability"),
    ("query asia --mpe --probability", 2, "--probability"),
    ("plot asia", 2, "-o"),
    ("plot asia -o asia.gif", 1, ".png"),
    ("plot asia -o absent/asia.png", 1, "absent"),
    ("plot 'a -> b' --given a=1 -o x.png", 2, "--given"),
    ("plot 'a -> b -> a' -o x.png", 1, "cycle"),
    ("convert asia asia.bfi", 1, "did you mean '.bif'"),
    ("convert asia.csv asia.bif", 1, "asia.csv"),
    ("sample asia -n -3", 2, "whole number"),
    ("sample asia -n three", 2, "whole number"),
    ("sample asia --missing 1.5", 2, "share"),
    ("sample asia --missing much", 2, "number"),
    ("demo --rows 0", 2, "whole number from 1"),
    ("demo --picture absent/x.png", 1, "absent"),
    ("lern", 2, "did you mean 'learn'"),
    ("info asia --nonsense", 2, "--nonsense"),
    ("--nonsense", 2, "COMMAND"),
    ("evaluate asia.csv --target dysp --model nb tan --score bic:3", 1, "no number"),
]


@pytest.mark.parametrize(("line", "code", "named"), BAD, ids=[line for line, _, _ in BAD])
def test_an_error_is_one_line_that_names_what_is_wrong(line, code, named, folder, terminal):
    make_bad_files(folder)
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    found, out, err = terminal("bntk " + line)
    assert (found, out) == (code, "")
    errors = [text for text in err.splitlines() if not text.startswith("bntk: note: ")]
    assert len(errors) == 1
    assert errors[0].startswith("bntk")
    assert named in errors[0]
    assert "unexpected" not in errors[0]
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_without_a_command_the_help_is_shown(capsys):
    assert main([]) == 2
    assert "commands:" in capsys.readouterr().out


def test_debug_raises_errors_as_they_are(folder, monkeypatch):
    with pytest.raises(FileNotFoundError):
        main(["info", "absent.csv", "--debug"])
    monkeypatch.setenv("BNTK_DEBUG", "1")
    with pytest.raises(FileNotFoundError):
        main(["info", "absent.csv"])


def test_a_fault_of_the_program_is_one_line_too(monkeypatch, capsys):
    def fail(options):
        raise ZeroDivisionError("what\nnow")

    monkeypatch.setattr("bntk.cli.query._tell_joint", lambda *_: fail(_))
    assert main(["query", "asia", "lung"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_an_interrupt_has_its_own_exit_code(monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("bntk.cli.query._tell_joint", interrupt)
    assert main(["query", "asia", "lung"]) == 130
    assert capsys.readouterr().err == "bntk: interrupted\n"


def test_an_interrupted_search_gives_the_best_so_far(folder, monkeypatch, terminal):
    from bntk.learning.search import HillClimbing

    original = HillClimbing.run

    def stopped(self, *arguments, **settings):
        from dataclasses import replace

        return replace(original(self, *arguments, **settings), interrupted=True)

    monkeypatch.setattr(HillClimbing, "run", stopped)
    code, _, err = terminal("bntk learn asia.csv --search hc -o found.bif")
    assert code == 0
    assert "best structure so far" in err
    assert bntk.load("found.bif").dag.n_arcs > 0


def test_warnings_of_the_library_are_notes_of_one_line(folder, terminal):
    (folder / "odd.csv").write_text("smoke,bronc\nyes,perhaps\nno,yes\n")
    code, out, err = terminal("bntk predict asia odd.csv --target lung")
    assert (code, out.splitlines()) == (0, ["predicted_lung", "no", "no"])
    lines = err.splitlines()
    assert all(line.startswith("bntk: note: ") for line in lines)
    assert any("perhaps" in line for line in lines)
    assert any("'xray'" in line for line in lines)
    assert terminal("bntk predict asia odd.csv --target lung -q") == (0, out, "")


# ---- as a process ----------------------------------------------------------------------------------------------------


def bntk_process(*words, **settings):
    return subprocess.run([sys.executable, "-m", "bntk", *words], capture_output=True, text=True, **settings)


def test_the_command_runs_as_a_module():
    assert bntk_process("--version").stdout.strip() == f"bntk {bntk.__version__}"


def test_a_reader_that_stops_is_no_error():
    writer = subprocess.Popen(
        [sys.executable, "-m", "bntk", "sample", "asia", "-n", "50000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert writer.stdout.readline().startswith(b"asia,")
    writer.stdout.close()
    assert writer.stderr.read() == b""
    writer.stderr.close()
    writer.wait()


def test_a_process_tells_an_error_in_one_line_and_its_exit_code(folder):
    done = bntk_process("query", "asia", "lung", "--given", "xray=maybe")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1


def test_help_needs_nothing_that_is_slow_to_import():
    code = "import sys; from bntk.cli import main; main(['--help']); print('\\n'.join(sys.modules), file=sys.stderr)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.split()
    assert "bntk.cli.entry" in loaded
    assert not {"numpy", "pandas", "numba", "sklearn", "scipy", "matplotlib", "tqdm"} & set(loaded)


def test_the_help_of_a_command_needs_neither_pandas_nor_numba():
    code = (
        "import sys; from bntk.cli.entry import load, COMMANDS; [load(name) for name in COMMANDS]; print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"pandas", "numba", "sklearn", "scipy", "matplotlib", "tqdm"} & set(loaded)


def test_a_progress_bar_is_for_terminals_only(folder, terminal, monkeypatch):
    line = "bntk evaluate asia.csv --target dysp --model nb --folds 2"
    assert terminal(line)[2] == ""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    assert main(line.split()[1:]) == 0
    assert "fit" in screen.getvalue()
    screen.truncate(0)
    assert main([*line.split()[1:], "--quiet"]) == 0
    assert "fit" not in screen.getvalue()


def test_each_command_is_in_the_module_of_its_name():
    assert [load(name).name for name in COMMANDS] == list(COMMANDS)
