"""A Chromium that scripts drive by Selenium: for the tests of the page, its pictures and its times."""

from __future__ import annotations

import shutil
from typing import Any

BROWSERS, DRIVER = ("chromium", "chromium-browser", "google-chrome"), "chromedriver"


class NoBrowserError(RuntimeError):
    """There is no Chromium, no driver of it, or no Selenium."""


def chromium(width: int = 1280, height: int = 860) -> Any:
    """A new browser with a window of this size, writing English; quit it."""
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        raise NoBrowserError("selenium is not installed (pip install selenium)") from None
    binary, service = next(filter(None, map(shutil.which, BROWSERS)), None), shutil.which(DRIVER)
    if binary is None or service is None:
        raise NoBrowserError("Chromium and its driver are not installed (Debian: chromium, chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for switch in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
        "--hide-scrollbars", "--lang=en-US", f"--window-size={width},{height}",
    ):  # fmt: skip
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(service))
    resize(driver, width, height)
    return driver


def resize(driver: Any, width: int, height: int, *, phone: bool = False, dark: bool = False) -> None:
    """Another window: its size, whether it is a phone's, and what the system prefers."""
    size = {"width": width, "height": height, "deviceScaleFactor": 2 if phone else 1, "mobile": phone}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
