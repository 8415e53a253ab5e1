"""Figures in the output of notebook cells, drawn as those of the other pages."""

import plotly.graph_objects as go
from docutils import nodes
from jupyter_client import AsyncKernelManager
from myst_nb.core import render

from making.drawing import plot

PLOTLY = "application/vnd.plotly.v1+json"


class Figures:
    """What myst-nb asks for each output of a cell."""

    mime_priority_overrides = (("html", PLOTLY, 0),)

    @staticmethod
    def handle_mime(
        renderer: render.NbElementRenderer, data: render.MimeData, inline: bool
    ) -> list[nodes.Element] | None:
        """A plotly figure as HTML, with its own title; anything else is not ours."""
        if data.mime_type != PLOTLY:
            return None
        figure = go.Figure({"data": data.content["data"], "layout": data.content["layout"]})
        return [nodes.raw("", plot(figure), format="html")]


def install() -> None:
    """Myst-nb finds such classes in installed packages; this one belongs to the site alone.

    The kernel of notebooks is spoken to through files of this user: it warns of ports, which others could read.
    """
    render.load_mime_renders = lambda: [Figures]
    AsyncKernelManager.transport.default_value = "ipc"
