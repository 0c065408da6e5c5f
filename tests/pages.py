"""Pages of reports in a real Chromium: how it is started, and what is measured on a page.

Playwright brings no browser here: its package speaks to Debian's, and watches console and requests.
"""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page

QUIET = (
    "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync "
    "--no-first-run"
).split()

ShowPage = Callable[..., Page]
"""Opens a page: its HTML, and options of a browser's context by name."""

# The lowest contrast of any text on the page with what is behind it, by WCAG's formula, and that text.
CONTRAST = """() => {
  const pen = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const over = (colours) => {  // painted one above the other
    pen.clearRect(0, 0, 1, 1);
    for (const colour of colours) { pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1); }
    return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => rgb.map((one) => one / 255).map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
    .reduce((sum, one, at) => sum + one * [0.2126, 0.7152, 0.0722][at], 0);
  let worst = [21, ""], seen = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const holder = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !holder.checkVisibility() || holder.closest(".unseen")) continue;
    const behind = [];
    for (let one = holder; one; one = one.parentElement) behind.unshift(getComputedStyle(one).backgroundColor);
    const [a, b] = [light(over(behind)), light(over([...behind, getComputedStyle(holder).color]))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    seen++;
    if (ratio < worst[0]) worst = [ratio, `${holder.className} ${walker.currentNode.data}`];
  }
  return [...worst, seen];
}"""
