"""``bntk completion``: scripts by which shells complete commands, options and their words, made of the parsers."""

from __future__ import annotations

import argparse
import re
import shlex
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bntk._declared import CLASSIFIERS, MULTI_CLASSIFIERS, SCORES
from bntk.cli import options as words
from bntk.cli.command import Command, Example
from bntk.cli.output import write_out

SHELLS = ("bash", "zsh", "fish")
#: What stands for a file in the help of a command.
_FILES = {"FILE", "OUT", "PICTURE", "DATA", "MODEL", "NETWORK", "STRUCTURE", "FOLDER"}
#: What may be the name of an embedded network.
_NETWORKS = {"FILE", "NETWORK", "STRUCTURE", "MODEL"}


@dataclass(frozen=True)
class _Option:
    """An option, or the other words of a command (without flags): what may stand for it."""

    flags: tuple[str, ...]
    help: str
    takes: bool
    many: bool
    values: tuple[str, ...]
    files: bool


def _add_options(parser: ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=" or ".join(SHELLS))


def _run(options: Namespace) -> None:
    write_out({"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell]())


# ---- what there is to complete -------------------------------------------------------------------------------------


def _commands() -> dict[str, list[_Option]]:
    """The options of every command, as its parser has them."""
    from bntk.cli import entry

    found = {}
    for name in entry.COMMANDS:
        whole = entry.parser(name)
        [several] = [a for a in whole._actions if isinstance(a, argparse._SubParsersAction)]
        found[name] = [_option(action) for action in several.choices[name]._actions]
    return found


def _summaries() -> dict[str, str]:
    from bntk.cli import entry

    return entry.COMMANDS


def _option(action: Action) -> _Option:
    is_flag, metavar = bool(action.option_strings), str(action.metavar or "")
    values = _values(action)
    if not is_flag and metavar in _NETWORKS:
        from bntk.cli.inputs import embedded

        values = embedded()
    help_text = re.sub(r"%\((\w+)\)s", lambda match: str(getattr(action, match[1], "")), action.help or "")
    return _Option(
        tuple(action.option_strings),
        " ".join(help_text.split()),
        action.nargs != 0,
        action.nargs in ("+", "*"),
        values,
        metavar in _FILES or (is_flag and action.dest in ("output", "network", "plot", "cache", "costs")),
    )


def _values(action: Action) -> tuple[str, ...]:
    """The words that an option takes, where it names them."""
    if action.choices is not None:
        return tuple(map(str, action.choices))
    if isinstance(action.type, words.one_of):
        return tuple(map(str, action.type.choices))
    if action.type is words.score:
        return tuple(SCORES)
    if action.type is words.prior:
        return ("mle", "bdeu", "backoff", "hdp")
    if action.type is words.model:
        return tuple(dict.fromkeys((*CLASSIFIERS, *MULTI_CLASSIFIERS, *words.SHAPES)))
    return ()


def _flags(options: Iterable[_Option]) -> list[str]:
    return [flag for option in options for flag in option.flags]


def _others(options: Iterable[_Option]) -> tuple[list[str], bool]:
    """What the words without a flag may be, and whether they may be files."""
    free = [option for option in options if not option.flags]
    return [*dict.fromkeys(value for option in free for value in option.values)], any(o.files for o in free)


# ---- bash ----------------------------------------------------------------------------------------------------------


def _bash() -> str:
    return "\n".join(_bash_lines()) + "\n"


def _bash_lines() -> Iterator[str]:
    yield "# completion of bntk for bash; made by: bntk completion bash"
    yield from _BASH_HEAD.format(commands=" ".join(_summaries())).splitlines()
    yield '    case "$command $option" in'
    for command, options in _commands().items():
        for option in options:
            if option.flags and option.takes:
                patterns = "|".join(f'"{command} {flag}"' for flag in option.flags)
                listed, many = shlex.quote(" ".join(option.values)), int(option.many)
                yield f"        {patterns}) takes=1; many={many}; values={listed}; files={int(option.files)};;"
    yield "    esac"
    yield from _BASH_MIDDLE.splitlines()
    for command, options in _commands().items():
        values, files = _others(options)
        flags = shlex.quote(" ".join(_flags(options)))
        yield f"        {command}) flags={flags}; values={shlex.quote(' '.join(values))}; files={int(files)};;"
    yield from _BASH_END.splitlines()


_BASH_HEAD = """_bntk() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" command="${{COMP_WORDS[1]}}"
    local option="" flags="" values="" files=0 takes=0 many=0 i
    COMPREPLY=()
    if [ "$COMP_CWORD" -le 1 ]; then
        COMPREPLY=($(compgen -W "{commands} --help --version" -- "$current"))
        return
    fi
    for ((i = COMP_CWORD - 1; i > 1; i--)); do
        case "${{COMP_WORDS[i]}}" in -?*) option="${{COMP_WORDS[i]}}"; break;; esac
    done"""
_BASH_MIDDLE = """    if [ "$takes" = 1 ] && { [ "$many" = 1 ] || [ $((COMP_CWORD - i)) = 1 ]; }; then
        case "$current" in
            -*) ;;
            *)
                [ -n "$values" ] && COMPREPLY=($(compgen -W "$values" -- "$current"))
                if [ "$files" = 1 ]; then local IFS=$'\\n'; COMPREPLY+=($(compgen -f -- "$current")); fi
                return;;
        esac
    fi
    values=""; files=0
    case "$command" in"""
_BASH_END = """    esac
    case "$current" in
        -*) COMPREPLY=($(compgen -W "$flags" -- "$current"));;
        *)
            [ -n "$values" ] && COMPREPLY=($(compgen -W "$values" -- "$current"))
            if [ "$files" = 1 ]; then local IFS=$'\\n'; COMPREPLY+=($(compgen -f -- "$current")); fi;;
    esac
}
complete -o filenames -F _bntk bntk"""


# ---- zsh -----------------------------------------------------------------------------------------------------------


def _zsh() -> str:
    return "\n".join(_zsh_lines()) + "\n"


def _zsh_lines() -> Iterator[str]:
    yield "#compdef bntk"
    yield "# completion of bntk for zsh; made by: bntk completion zsh"
    yield from _ZSH_HEAD.format(commands=" ".join(_summaries())).splitlines()
    yield '    case "$command $option" in'
    for command, options in _commands().items():
        for option in options:
            if option.flags and option.takes:
                patterns = "|".join(f'"{command} {flag}"' for flag in option.flags)
                listed, many = " ".join(map(shlex.quote, option.values)), int(option.many)
                yield f"        ({patterns}) takes=1; many={many}; values=({listed}); files={int(option.files)};;"
    yield "    esac"
    yield from _ZSH_MIDDLE.splitlines()
    for command, options in _commands().items():
        values, files = _others(options)
        flags, listed = " ".join(_flags(options)), " ".join(map(shlex.quote, values))
        yield f"        ({command}) flags=({flags}); values=({listed}); files={int(files)};;"
    yield from _ZSH_END.splitlines()


_ZSH_HEAD = """_bntk() {{
    local current="${{words[CURRENT]}}" command="${{words[2]}}" option="" i files=0 takes=0 many=0
    local -a flags values
    if (( CURRENT <= 2 )); then
        compadd -- {commands} --help --version
        return
    fi
    for (( i = CURRENT - 1; i > 2; i-- )); do
        if [[ "${{words[i]}}" == -?* ]]; then option="${{words[i]}}"; break; fi
    done"""
_ZSH_MIDDLE = """    if (( takes && (many || CURRENT - i == 1) )) && [[ "$current" != -* ]]; then
        (( ${#values} )) && compadd -- "${values[@]}"
        (( files )) && _files
        return
    fi
    values=(); files=0
    case "$command" in"""
_ZSH_END = """    esac
    if [[ "$current" == -* ]]; then
        compadd -- "${flags[@]}"
        return
    fi
    (( ${#values} )) && compadd -- "${values[@]}"
    (( files )) && _files
    return 0
}
if [[ "${funcstack[1]}" == "_bntk" ]]; then _bntk "$@"; elif (( $+functions[compdef] )); then compdef _bntk bntk; fi"""


# ---- fish ----------------------------------------------------------------------------------------------------------


def _fish() -> str:
    return "\n".join(_fish_lines()) + "\n"


def _fish_lines() -> Iterator[str]:
    yield "# completion of bntk for fish; made by: bntk completion fish"
    yield from _FISH_AFTER.splitlines()
    yield "complete -c bntk -f"
    yield "complete -c bntk -n __fish_use_subcommand -l help -s h -d 'show the commands'"
    yield "complete -c bntk -n __fish_use_subcommand -l version -d 'show the version'"
    for command, summary in _summaries().items():
        yield f"complete -c bntk -n __fish_use_subcommand -a {command} -d {_fish_quoted(summary)}"
    for command, options in _commands().items():
        start = f"complete -c bntk -n '__fish_seen_subcommand_from {command}'"
        for option in options:
            if not option.flags:
                continue
            names = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
            takes = (" -r -F" if option.files else " -x") if option.takes else ""
            values = f" -a {_fish_quoted(' '.join(option.values))}" if option.values else ""
            yield f"{start} {names}{takes}{values} -d {_fish_quoted(_short(option.help))}"
            if option.many and (option.values or option.files):
                after = f"__bntk_after {command} {' '.join(option.flags)}"
                yield f"complete -c bntk -n '{after}'{values}{' -F' if option.files else ''}"
        listed, files = _others(options)
        if listed:
            yield f"{start} -a {_fish_quoted(' '.join(listed))}"
        if files:
            yield f"{start} -F"


# Whether the words are those of a command, and the last option among them is one that takes several words.
_FISH_AFTER = """function __bntk_after
    set -l words (commandline -opc)
    test "$words[2]" = "$argv[1]"; or return 1
    for word in $words[-1..3]
        if string match -q -- '-*' $word
            contains -- $word $argv[2..]
            return $status
        end
    end
    return 1
end"""


def _short(help_text: str) -> str:
    """The beginning of the help of an option, which is shown beside each of its words."""
    return re.split(r"[:;(]", help_text, maxsplit=1)[0].strip()


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


COMMAND = Command(
    "completion",
    "SHELL",
    "Print a script by which the shell completes the commands of bntk, their options, and the words that these take, "
    "when the tab key is pressed.\n\n"
    "bash:  put into ~/.bashrc:  source <(bntk completion bash)\n"
    "zsh:   put into ~/.zshrc, after compinit:  source <(bntk completion zsh)\n"
    "fish:  bntk completion fish > ~/.config/fish/completions/bntk.fish",
    (
        Example("the script for bash", "bntk completion bash"),
        Example("a file that fish looks into", "bntk completion fish > bntk.fish"),
    ),
    _add_options,
    _run,
)
