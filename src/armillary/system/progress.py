"""A progress bar with time left, and tokens per second in a pass; silent where nobody watches."""

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


class Latest(ProgressColumn):
    """What was said last, such as the loss of the last steps."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def render(self, task: Task) -> Text:
        """The text as it is."""
        return Text(self.text, style="cyan")


@contextmanager
def progress(label: str, contexts: int, length: int, *, show: bool) -> Iterator[Callable[[int], None]]:
    """A bar on standard error for as long as the `with` lasts; call what it yields with the number of windows read."""
    with progress_of(label, contexts * length, TokensPerSecond(), show=show) as advance:
        yield lambda windows: advance(windows * length)


@contextmanager
def progress_of(label: str, total: int, *beside: ProgressColumn, show: bool) -> Iterator[Callable[[int], None]]:
    """A bar over any number of steps; call what it yields with the number of steps done."""
    console = Console(stderr=True)
    if not show or not (console.is_terminal or console.is_jupyter):
        yield lambda steps: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:3.0f} %"))
    with Progress(*columns, *beside, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda steps: bar.advance(task, steps)


@contextmanager
def waiting(label: str, *, show: bool = True) -> Iterator[None]:
    """A line that moves for as long as the `with` lasts, where somebody watches; it is gone afterwards."""
    console = Console(stderr=True)
    if not show or not console.is_terminal:
        yield
        return
    with console.status(Text(label)):
        yield


def say(line: str) -> None:
    """One plain line on standard error."""
    Console(stderr=True, markup=False, highlight=False, soft_wrap=True).print(line)
