"""Drives Chromium without a window by selenium, for the tests of pages and for pictures of their charts.

Both are packages of Debian (chromium, chromium-driver, python3-selenium), so this needs Debian's own /usr/bin/python3.
"""

import contextlib
import shutil
import tempfile

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
]


def missing():
    """Returns in one sentence why Chromium cannot be driven here; empty if it can."""
    try:
        import selenium.webdriver  # noqa: F401
    except ImportError:
        return "python3-selenium is not installed"
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    return ""


@contextlib.contextmanager
def browser(width=1280, height=900, scale=1):
    """Opens a browser with a profile of its own, and closes it when the block ends."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    with tempfile.TemporaryDirectory(prefix="c3sim_chromium_", ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for flag in FLAGS + [f"--user-data-dir={profile}", f"--force-device-scale-factor={scale}"]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)
        try:
            driver.set_script_timeout(300)
            set_width(driver, width, height, scale)
            yield driver
        finally:
            driver.quit()


def set_width(driver, width, height=900, scale=1):
    """Sets the size of what a page sees, in CSS pixels: windows cannot be as narrow as a phone."""
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False})


def set_theme(driver, theme):
    """Sets light or dark, as the reader's system would, and stops motion, so that clicks hit their targets."""
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                           {"features": [{"name": "prefers-color-scheme", "value": theme},
                                         {"name": "prefers-reduced-motion", "value": "reduce"}]})


def open_page(driver, path):
    """Opens a file and waits until its page is built."""
    from selenium.webdriver.support.ui import WebDriverWait

    driver.get(path.resolve().as_uri())
    WebDriverWait(driver, 300).until(
        lambda d: d.execute_script("return document.documentElement.dataset.ready === 'true'"))
