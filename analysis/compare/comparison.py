"""A comparison as people use it: the differences, and how they are shown in a terminal, Markdown, LaTeX and CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binwright.analysis.compare import render_text
from binwright.analysis.compare.differences import Differences

if TYPE_CHECKING:
    import rich.console


class Comparison(Differences):
    """Differences that can show themselves. docs/guides/results.md says what each column is, and how it is computed."""

    @property
    def legend(self) -> str:
        """Say what the columns are about, and what was left out."""
        return render_text.legend(self)

    def rich(self, width: int) -> rich.console.Group:
        """Show a table per metric in a terminal that is `width` characters wide."""
        return render_text.terminal(self, width)

    def markdown(self) -> str:
        """Write a Markdown table per metric."""
        return render_text.markdown(self)

    def latex(self) -> str:
        r"""Write one table for a paper: needs `\usepackage{booktabs}`."""
        return render_text.latex(self)

    def csv(self) -> str:
        """Write the whole frame."""
        text: str = self.frame.write_csv()
        return text

    def __str__(self) -> str:
        return self.markdown()

    def _repr_markdown_(self) -> str:
        return self.markdown()
