"""Whether 95 % intervals cover on real text, and how often `compare` finds a difference where there is none.

    python benchmarks/coverage.py minilm wikitext2 [--surveys 30] [--contexts 64] [--length 128] [--write]

The documents of a text are dealt out to disjoint surveys. The truth of each is taken to be the mean of the others: it
scatters itself by √(1/29) of an error. Each survey is compared with the few before it, and whatever is said to differ
is said so by mistake. --write puts the table into docs/statistics.md. minilm takes 10 minutes, smollm2 an hour. Exit
code 1 where a result covers in fewer than 88 % of the surveys.
"""

import argparse
import re
import sys
import time
from pathlib import Path

import numpy as np

import armillary as arm
from armillary.measures.errors.jackknife import half_width
from armillary.results.reading import array, draws, has
from armillary.results.schema import GROUPS
from armillary.results.store import tree_of

PAGE = Path(__file__).resolve().parent.parent / "docs" / "statistics.md"
LARGE = ("residual", "attention", "sample", "head_groups", "six_panels", "dissection")
BEFORE = 10
LEAST, ENOUGH = 88, 10
PATHS = [f"{group}/{name}" for group, held in GROUPS.items() for name, row in held.variables.items()
         if row.error == "documents"]  # fmt: skip
HEADING = "| result | covered, % | lowest layer | SE / scatter | p < 0.05, % | called different, % |"


def surveys_of(view, source, args):
    """One survey after the other, of documents that no other reads."""
    documents = list(arm.corpus(source).read())
    order = np.random.default_rng(0).permutation(len(documents))
    for number in range(args.surveys):
        mine = {documents[at].name: documents[at].text for at in order[number :: args.surveys]}
        start = time.perf_counter()
        run = arm.survey(
            view, mine, contexts=args.contexts, length=args.length, seed=number, heads=True, progress=False
        )
        run = arm.heads(run, view, progress=False) if args.names else run
        yield arm.gaussian(view, run, progress=False) if args.lens else run
        print(f"{number + 1} of {args.surveys}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)


def small(run):
    """What `compare` needs of a run, without the sums of its pass."""
    groups = {name: node.to_dataset() for name, node in run.results.children.items() if name not in LARGE}
    return arm.Run(tree_of(groups, run.provenance))


def coverage(values, margins):
    """Whether each survey's interval holds the mean of the others; NaN where it has none."""
    known = np.isfinite(values)
    others = (np.nansum(values, 0) - np.where(known, values, 0)) / np.maximum(known.sum(0) - known, 1)
    return np.where(np.isfinite(values + margins), np.abs(values - others) <= margins, np.nan)


def by_layer(table):
    """The mean over surveys and all axes but the first, the layer or block, where enough surveys have an interval."""
    flat = table.reshape(*table.shape[:2], -1)
    enough = np.isfinite(flat).any(2).sum(0) >= min(ENOUGH, len(table))
    return np.nanmean(flat[:, enough], axis=(0, 2))


def row(path, found, tests):
    """One line of the table, and how often the interval covered."""
    values, errors, widths = (np.array(part, dtype=float) for part in zip(*found, strict=True))
    margins = errors * widths.reshape(-1, *[1] * (errors.ndim - 1))
    if not np.isfinite(margins).any():
        return f"| {path} | no interval | | | | |", np.nan
    covered = coverage(values, margins)
    ratio = np.sqrt(np.nanmean(errors**2) / np.nanmean(np.nanvar(values, 0, ddof=1)))
    p, differs = (np.concatenate([np.ravel(pair[at]) for pair in tests]) for at in (0, 1))
    flagged = 100 * np.mean(p[np.isfinite(p)] < 0.05), 100 * differs[np.isfinite(p)].mean()
    mean, lowest = 100 * np.nanmean(covered), 100 * np.nanmin(by_layer(covered), initial=1)
    numbers = f"{mean:.1f} | {lowest:.0f} | {ratio:.2f} | {flagged[0]:.1f} | {flagged[1]:.1f}"
    return f"| {path} | {numbers} |", mean


def measured(view, source, args):
    """The whole table of one model and text, and what covers too rarely."""
    found, tests, before = {}, {}, []
    for run in surveys_of(view, source, args):
        for path in PATHS:
            if has(run.results, path) and has(run.results, f"{path}_se"):
                numbers = array(run.results, path).values, array(run.results, f"{path}_se").values
                found.setdefault(path, []).append((*numbers, half_width(draws(run.results, path))))
        run = small(run)
        for compared in (arm.compare(other, run) for other in before[-BEFORE:]):
            for path in found:
                if has(compared, f"{path}_differs"):
                    both = (array(compared, f"{path}_{name}").values for name in ("difference_p", "differs"))
                    tests.setdefault(path, []).append(tuple(both))
        before.append(run)
    rows = {path: row(path, found[path], tests[path]) for path in found}
    low = [path for path, (_, covered) in rows.items() if covered < LEAST]
    return "\n".join([HEADING, "|---" * 6 + "|", *(line for line, _ in rows.values())]), low


def written(title, table):
    """Put a table into the page, in the place of the one with its title."""
    page, marked = PAGE.read_text(), f"<!-- {title} -->\n\n{table}\n\n<!-- end of {title} -->"
    pattern = re.compile(rf"<!-- {re.escape(title)} -->.*?<!-- end of {re.escape(title)} -->", re.DOTALL)
    if not pattern.search(page):
        raise SystemExit(f"expected a place for {title!r} in {PAGE.name}, got none: add its two comment lines")
    PAGE.write_text(pattern.sub(lambda _: marked, page))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("corpus")
    parser.add_argument("--surveys", type=int, default=30)
    parser.add_argument("--contexts", type=int, default=64)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--no-names", dest="names", action="store_false", help="without `armillary heads`")
    parser.add_argument("--lens", action="store_true", help="with `armillary gaussian`")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    table, low = measured(arm.load(args.model), args.corpus, args)
    print(table)
    if args.write:
        written(f"coverage of {args.model} on {args.corpus}", table)
    if low:
        raise SystemExit(f"expected {LEAST} % or more of the intervals to cover, got fewer of {', '.join(low)}")


if __name__ == "__main__":
    main()
