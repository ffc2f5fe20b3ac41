"""A small writer of static SVG: scales, axes, marks, figures. Pure; it knows nothing of trials.

Coordinates are written with two decimals, ids come from content, and text is laid out by estimate: the same input gives
the same bytes on every machine. Colours are classes, so that a page can be light, dark or printed (../style.css).
"""
