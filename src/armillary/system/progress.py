"""A progress bar with tokens per second and time left; silent where nobody watches."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text


class TokensPerSecond(ProgressColumn):
    """How fast tokens go through the model."""

    def render(self, task: Task) -> Text:
        """The speed as text."""
        return Text(f"{task.speed:,.0f} tokens/s" if task.speed else "", style="cyan")


@contextmanager
def progress(label: str, contexts: int, length: int, *, show: bool) -> Iterator[Callable[[int], None]]:
    """A bar on standard error for as long as the `with` lasts; call what it yields with the number of windows read."""
    console = Console(stderr=True)
    if not show or not (console.is_terminal or console.is_jupyter):
        yield lambda windows: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f} %"))
    with Progress(*columns, TokensPerSecond(), TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(label, total=contexts * length)
        yield lambda windows: bar.advance(task, windows * length)


def say(line: str) -> None:
    """One plain line on standard error."""
    Console(stderr=True, markup=False, highlight=False, soft_wrap=True).print(line)
