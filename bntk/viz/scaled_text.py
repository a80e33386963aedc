"""A text of matplotlib whose size is in the units of its axes, so that it fits its box whatever their size."""

from __future__ import annotations

from typing import Any

from matplotlib.text import Text


class ScaledText(Text):
    """Text that is ``points`` high where one unit of the axes is one point, and else in proportion."""

    points = 10.0

    def _fit(self) -> None:
        axes: Any = self.axes
        (x0, _), (x1, _) = axes.transData.transform([(0, 0), (1, 0)])
        self.set_fontsize(max(0.5, self.points * (x1 - x0) * 72 / axes.figure.dpi))

    def draw(self, renderer: Any) -> None:
        """Draw it in the size that the axes have now."""
        self._fit()
        super().draw(renderer)

    def get_window_extent(self, *args: Any, **kwargs: Any) -> Any:
        """Where it is drawn, in pixels."""
        self._fit()
        return super().get_window_extent(*args, **kwargs)
