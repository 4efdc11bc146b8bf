"""The drawing on the page of an example."""

# The number of points of a drawing that have ink.
INKED = "(e) => e.getContext('2d').getImageData(0, 0, e.width, e.height).data.filter((value, at) => at % 4 === 3 && value > 0).length"


def draw(page, *places):
    box = page.locator("#paper").bounding_box()
    (first, *rest) = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in places]
    page.mouse.move(*first)
    page.mouse.down()
    for place in rest:
        page.mouse.move(*place, steps=8)
    page.mouse.up()


def until_inked(page, is_right):
    for _ in range(200):
        if is_right(page.locator("#paper").evaluate(INKED)):
            return
        page.wait_for_timeout(50)
    raise AssertionError("the drawing is another one")
