"""Take the pictures of the explorer: ``python docs/explorer_pictures.py`` writes them to ``docs/pictures``.

It needs Chromium with its driver, and the file of the network alarm; ``--data`` is the folder that has it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bntk

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from make_pictures import wine_tan  # noqa: E402

from benchmarks.explorer.chromium import chromium, resize  # noqa: E402

#: Three findings of a patient under anaesthesia.
FINDINGS = {"HRBP": "HIGH", "CVP": "LOW", "PRESS": "HIGH"}


class Camera:
    """A browser that opens pages, acts in them and takes their pictures."""

    def __init__(self, driver: Any, folder: Path) -> None:
        self.driver, self.folder = driver, folder

    def take(
        self,
        name: str,
        write: Callable[[Path], Any],
        keys: str = "",
        *,
        size: tuple[int, int] = (1200, 760),
        **window: bool,
    ) -> None:
        """Open a page, press some keys in it, and take its picture."""
        resize(self.driver, *size, **window)
        path = self.folder / f"{name}.html"
        write(path)
        self.driver.get(path.as_uri())
        body = self.driver.find_element("css selector", "body")
        for key in keys:
            body.send_keys(key)
        self.driver.execute_script("document.activeElement.blur()")
        self.driver.execute_async_script("setTimeout(arguments[0], 300)")
        self.driver.save_screenshot(str(HERE / "pictures" / f"explorer-{name}.png"))


def main(arguments: list[str]) -> None:
    """Take all pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=HERE.parents[1] / "shared/data/networks")
    alarm = bntk.load(parser.parse_args(arguments).data / "alarm.bif.gz")
    asia, tan, given = bntk.datasets.asia(), wine_tan(), {"xray": "yes", "smoke": "no"}
    driver = chromium()
    with tempfile.TemporaryDirectory() as folder:
        camera = Camera(driver, Path(folder))
        camera.take("asia", lambda path: asia.explore(path, target="lung", given=given, title="asia"), "2e")
        camera.take("alarm", lambda path: alarm.explore(path, given=FINDINGS, title="alarm"), size=(1440, 900))
        camera.take("tan", lambda path: tan.explore(path, title="Wines"), "2", size=(1440, 900))
        phone = {"size": (390, 780), "phone": True}
        camera.take("phone", lambda path: asia.explore(path, target="lung", given=given, title="asia"), "2", **phone)
        camera.take(
            "dark",
            lambda path: alarm.explore(path, target="LVFAILURE", given=FINDINGS, title="alarm"),
            "2",
            size=(1440, 900),
            dark=True,
        )
    driver.quit()


if __name__ == "__main__":
    main(sys.argv[1:])
