"""How long the page of the explorer takes to open, and from a click until it is painted, in Chromium.

python -m benchmarks.explorer.page [--data FOLDER] [--quick]

"open" is the time from the start of the navigation until the network is drawn; "work" is that from a click until all
bars are changed and laid out; "frame" lasts until the browser has painted them, which waits for the next of its 60
frames in a second.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import bntk
from benchmarks.explorer.__main__ import NETWORKS, found
from benchmarks.explorer.chromium import NoBrowserError, chromium

_OPENED = """
const done = arguments[arguments.length - 1];
requestAnimationFrame(() => setTimeout(() => {
  const paint = performance.getEntriesByName('first-contentful-paint')[0];
  done([paint ? paint.startTime : performance.now(), document.querySelectorAll('.node').length]);
}));
"""
_CLICK = """
const [v, s, done] = arguments;
const row = document.querySelector(`.state[data-variable="${v}"][data-state="${s}"]`);
document.body.offsetHeight;
requestAnimationFrame(() => setTimeout(() => {
  const start = performance.now();
  row.click();
  document.body.offsetHeight;
  const work = performance.now() - start;
  const channel = new MessageChannel();
  requestAnimationFrame(() => {
    channel.port1.onmessage = () => done([work, performance.now() - start]);
    channel.port2.postMessage(0);
  });
}));
"""


def measured(driver: Any, path: Path, network: bntk.BayesianNetwork, clicks: int) -> str:
    """The times of one network, as a row of the table."""
    opened = []
    for _ in range(3):
        driver.get("about:blank")
        driver.get(path.as_uri())
        opened.append(driver.execute_async_script(_OPENED)[0])
    rng, rows, times = np.random.default_rng(0), network.sample(clicks, seed=2), []
    for click in range(clicks):
        if click % 12 == 0:
            driver.get("about:blank")
            driver.get(path.as_uri())
        v = int(rng.integers(len(network.names)))
        times.append(driver.execute_async_script(_CLICK, v, int(rows.codes[v, click])))
    work, frame = np.array(times).T
    return (
        f"{len(network.names)} | {path.stat().st_size / 1000:.0f} | {np.median(opened):.0f} | {np.median(work):.1f} | "
        f"{np.quantile(work, 0.95):.1f} | {np.median(frame):.1f}"
    )


def main(arguments: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.explorer.page", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[3] / "shared/data/networks")
    parser.add_argument("--quick", action="store_true", help="few clicks")
    options = parser.parse_args(arguments)
    try:
        driver = chromium(1440, 900)
    except NoBrowserError as error:
        print(f"{error}: nothing can be measured")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        print("| network | variables | file, kB | open, ms | click: work, median ms | 95 % | until the frame, ms |")
        print("|---|---|---|---|---|---|---|")
        for name in NETWORKS:
            network = found(options.data, name)
            if network is not None:
                path = Path(folder) / f"{name}.html"
                network.explore(path)
                print(f"| {name} | {measured(driver, path, network, 24 if options.quick else 120)} |", flush=True)
    driver.quit()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
