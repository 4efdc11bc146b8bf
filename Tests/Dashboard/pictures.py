"""Says where the pictures of a run are, and ends with an error unless each view is there in each look.

They are in a folder for each look; `index.html` shows them side by side, a row for each view.
"""

import html
import itertools
import os
import sys

from stage import PICTURES

LOOKS = ["-".join(look) for look in itertools.product(("english", "german"), ("phone", "desktop"), ("light", "dark"))]
# Each way of the page has one at least.
VIEWS = ["join", "nearby", "session", "map", "wall-with-photos", "console", "gateway"]
STYLE = "img { width: 300px } body { font: 14px sans-serif } th { text-align: start } td { vertical-align: top }"

there = {look: {name.removesuffix(".png") for name in os.listdir(os.path.join(PICTURES, "views", look))} for look in LOOKS}
views = sorted(set(VIEWS).union(*there.values()))
rows = "".join(
    f"<tr><th>{html.escape(view)}</th>" + "".join(f'<td><img src="views/{look}/{view}.png" alt="" loading="lazy"></td>' for look in LOOKS) + "</tr>"
    for view in views)
index = os.path.join(PICTURES, "index.html")
with open(index, "w", encoding="utf-8") as file:
    file.write(f"<!doctype html><title>Views</title><style>{STYLE}</style><table><tr><th>{''.join(f'<th>{look}' for look in LOOKS)}</tr>{rows}</table>")
print(f"{len(views)} views in {len(LOOKS)} looks: {index}")
missing = [f"{view} in {look}" for view in views for look in LOOKS if view not in there[look]]
if missing:
    sys.exit(f"There is no picture of {', '.join(missing)}.")
