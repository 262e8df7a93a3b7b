"""Judging a collection page by page, in the order of the input, as a crawl would."""

from __future__ import annotations

from asyncio import Runner
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from lxml.html import HtmlElement

from scrapy_neardup import errors
from scrapy_neardup.bounded import BoundedDict
from scrapy_neardup.fingerprints import PUBLIC_KEY
from scrapy_neardup.judge.analysis import AnalysedPage, Analyser, page_id
from scrapy_neardup.judge.detector import Detector
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.offline.execution import ALONE, Cluster, Workers
from scrapy_neardup.offline.readers.corpus import Corpus, Portion, records_of
from scrapy_neardup.offline.readers.files import FoundPage, Repeated, identity
from scrapy_neardup.offline.readers.namedcolumns import Columns
from scrapy_neardup.settings.catalogue import OPTIONS, View
from scrapy_neardup.stores import open_store
from scrapy_neardup.text import Content, Extractor, parse_html
from scrapy_neardup.text.sniffing import looks_like_html
from scrapy_neardup.verdict import Decision, Page, Reason, Verdict

T = TypeVar("T")

Analysed = tuple[str, Page | Verdict]
"""Name of a record's page; and the page for a store, or the verdict that it can't be judged."""


def contents(
    records: Iterable[FoundPage], extract: Callable[[HtmlElement], T], of_text: Callable[[str], T]
) -> Iterator[tuple[FoundPage, T | Verdict]]:
    """Yield records, each with its content, or with the reason why it can't be judged.

    A long value that is the same object as an earlier one isn't read again.
    """
    at_hand = FoundPage(page="")
    once = Repeated(lambda _: _read(at_hand, extract, of_text))
    for at_hand in records:
        found = once(at_hand.html or at_hand.text or "")
        if isinstance(found, Verdict):
            found = replace(found, page_id=_id(at_hand))
        yield at_hand, found


def _read(
    record: FoundPage, extract: Callable[[HtmlElement], T], of_text: Callable[[str], T]
) -> T | Verdict:
    if record.html is None and record.text is None:
        return _unjudged(Reason.TOO_LONG)
    if not record.html:
        return of_text(record.text or "")
    if not looks_like_html(record.html, record.content_type):
        return _unjudged(Reason.NOT_HTML)
    try:
        return extract(parse_html(record.html, record.encoding))
    except errors.InputError as error:
        is_complex = isinstance(error, errors.TooComplexError)
        return _unjudged(Reason.TOO_COMPLEX if is_complex else Reason.UNPARSABLE, str(error))
    except Exception as error:  # noqa: BLE001  (whatever it is, the pages behind it are read)
        return _unjudged(Reason.UNPARSABLE, f"{type(error).__name__}: {error}")


def _unjudged(reason: Reason, detail: str = "") -> Verdict:
    return Verdict(decision=Decision.UNJUDGED, reason=reason, page_id=0, detail=detail)


def texts(
    records: Iterable[FoundPage], view: View = "main", ignore: Sequence[str] = ()
) -> Iterator[tuple[FoundPage, str]]:
    """Yield records with their texts; an unreadable one has none.

    `view` is the part of a page that counts, without matches of the CSS selectors of `ignore`.
    """
    extractor = Extractor(mode=view, ignore=tuple(ignore))
    for record, text in contents(records, lambda root: extractor.extract(root).text, str):
        yield record, text if isinstance(text, str) else ""


def analyse(record: FoundPage, analyser: Analyser) -> Page | Verdict:
    """Return the `Page` of a record, or why it can't be judged."""
    ((_, found),) = analyse_all([record], analyser)
    return found


def analyse_all(
    records: Iterable[FoundPage], analyser: Analyser
) -> Iterator[tuple[FoundPage, Page | Verdict]]:
    """Yield records, each with its `Page`, with the id that a crawl gives, or why it has none."""
    for record, found in contents(records, analyser.read, Content.of_text):
        if isinstance(found, Verdict):
            yield record, found
        else:
            yield record, analyser.page(found, page_id=_id(record), url=record.page)


def _id(record: FoundPage) -> int:
    return page_id(identity(record.id or record.url or record.page))


def analysed(corpus: Corpus, analyser: Analyser, work: Workers = ALONE) -> Generator[Analysed]:
    """Analyse the pages of a corpus with `work`; yield results in order.

    Each process reads the pages that it analyses. In one process no page is read ahead. An
    `InputError` of a page is raised after the results of all pages before it.
    """
    yield from in_parts(corpus, work, _analysing, analyser.parameters)


def in_parts(
    corpus: Corpus, work: Workers, start: Callable[..., Any], *arguments: Any
) -> Generator[Any]:
    """Yield the results of ``start(*arguments)`` for each record of a corpus, read in parts."""
    if work.size == 1 and not isinstance(work, Cluster):
        yield from start(*arguments)(iter(corpus))
        return
    parts, here = corpus.parts(sent=not isinstance(work, Cluster)), str(Path.cwd())
    with closing(work(_reading, parts, corpus.columns, here, start, arguments)) as read:
        for found, size, error in read:
            yield from found
            corpus.passed(size)
            if error is not None:
                raise error


def _reading(
    columns: Columns, here: str, start: Callable[..., Any], arguments: tuple[Any, ...]
) -> Callable[[Portion], tuple[list[Any], int, errors.NeardupError | None]]:
    """Return the function that reads a part of a corpus in the process that handles it.

    It returns the results, the size of the part, and an error that came after these results.
    """
    do = start(*arguments)

    def read(part: Portion) -> tuple[list[Any], int, errors.NeardupError | None]:
        found: list[Any] = []
        try:
            for each in do(records_of(part, columns, here)):
                found.append(each)  # noqa: PERF402  (those before an error count)
        except errors.NeardupError as error:
            return found, 0, error
        return found, part.size or 0, None

    return read


async def judge(page: Page | Verdict, detector: Detector) -> Verdict:
    """Judge an analysed page; confirm a new one at once, because no callback can fail."""
    verdict = await detector.decide(page)
    if verdict.decision is Decision.NEW:
        await detector.store.confirm(verdict.page_id)
    return verdict


MAX_CAPTURES: Final = 512
"""Number of pages within which a second capture of one URL belongs to the same crawl."""
_HELD_TOKENS: Final = 1 << 22
"""Maximum number of tokens of these pages, some 25 bytes each."""


class Captures:
    """The pages of a collection in order, some of them captured twice.

    Two captures of one URL show which text changes by itself (`scrapy_neardup.judge.changing`),
    like the requests that a crawl repeats.
    """

    def __init__(self, detector: Detector) -> None:
        self._detector = detector
        self._first: BoundedDict[int, AnalysedPage] = BoundedDict(MAX_CAPTURES)
        self._held = 0

    async def judge(self, page: Page | Verdict) -> Verdict:
        """Judge the next page; see `judge`."""
        if isinstance(page, AnalysedPage):
            if (first := self._first.get(page.id)) is not None:
                await self._detector.learn_response(first, page)
            else:
                self._held += page.tokens
                if self._held > _HELD_TOKENS:
                    self._first, self._held = BoundedDict(MAX_CAPTURES), page.tokens
                self._first[page.id] = page
        return await judge(page, self._detector)


def _analysing(parameters: Parameters) -> Callable[[Iterable[FoundPage]], Iterator[Analysed]]:
    analyser = Analyser(parameters)
    return lambda records: ((record.name, page) for record, page in analyse_all(records, analyser))


@contextmanager
def opened(
    uri: str, namespace: str, parameters: Parameters, *, expected_pages: int = 1_000_000
) -> Iterator[tuple[Detector, Runner]]:
    """Yield a detector over an open store, with the store's key, and a runner of its calls.

    A store in memory has the public key unless another one is given, so that its output is
    comparable with other runs.
    """
    hash_key = parameters.hash_key
    if hash_key is None and uri.lower().startswith("memory:"):
        hash_key = PUBLIC_KEY
    store = open_store(
        uri,
        namespace=OPTIONS["namespace"].read(namespace),
        max_distance=parameters.max_distance,
        expected_pages=expected_pages,
        hash_key=hash_key,
        schema=parameters.schema(),
        matching=parameters.matching,
    )
    with Runner() as runner:
        try:
            runner.run(store.open())
        except errors.StoreUnavailableError:
            raise  # a server that may answer later
        except errors.StoreError as error:
            raise errors.ConfigurationError(str(error)) from error  # the command line names it
        try:
            keyed = replace(parameters, hash_key=hash_key or store.key)
            yield Detector(Analyser(keyed), store), runner
        finally:
            runner.run(store.close())
