"""What pages truly repeat others, and configurations measured by that."""

import asyncio
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from audits import Audit
from datasets import shingle_set
from hypothesis import given
from hypothesis import strategies as st
from judging import store_for
from scrapy.settings import Settings

from scrapy_neardup.crawl.audit import content_keys
from scrapy_neardup.crawl.crawlsettings import read_settings
from scrapy_neardup.errors import InputError
from scrapy_neardup.judge.analysis import Analyser
from scrapy_neardup.judge.detector import Detector
from scrapy_neardup.judge.parameters import Parameters
from scrapy_neardup.offline.jobs.scanning import judge
from scrapy_neardup.offline.jobs.truth import Texts, audited_pages, truth_of
from scrapy_neardup.offline.jobs.tuning import (
    Configuration,
    Outcome,
    Share,
    chosen,
    configurations,
    measure,
    share,
)
from scrapy_neardup.report.summary import entries, unpacked
from scrapy_neardup.text import Block, Blocks, Content, Form

SOURCE = random.Random(11)
WORDS = [f"{a}{b}{c}" for a in "bdfgkl" for b in "aeiou" for c in "mnrst"]


def prose(words=120):
    return " ".join(SOURCE.choices(WORDS, k=words))


def changed(text, count):
    words = text.split()
    for place in SOURCE.sample(range(len(words)), count):
        words[place] = f"changed{SOURCE.randrange(10**9)}"
    return " ".join(words)


def truth(contents, address="http://a.example/{}/", kept=None):
    """Return the truth about pages, each in a folder of its own, or in one."""
    texts = Texts()
    for number, content in enumerate(contents):
        read = Content.of_text(content) if isinstance(content, str) else content
        texts.add((address.format(number), read))
    texts.learn_template(np.ones(len(texts), bool) if kept is None else kept)
    return truth_of(texts)


def similarity(a, b):
    one, two = shingle_set(a), shingle_set(b)
    return Fraction(len(one & two), len(one | two))


@pytest.mark.parametrize(("memory", "pairs"), [(1 << 29, 1 << 24), (50_000, 16), (10_000, 9)])
def test_the_truth_is_what_comparing_all_pages_says(monkeypatch, memory, pairs):
    monkeypatch.setattr("scrapy_neardup.offline.jobs.truth._MEMORY", memory)
    monkeypatch.setattr("scrapy_neardup.offline.jobs.truth._PAIRS", pairs)
    texts = []
    for _ in range(6):
        first = prose()
        texts += [first, first, *(changed(first, count) for count in (1, 2, 4, 30))]
    SOURCE.shuffle(texts)
    found = truth(texts)
    for number, text in enumerate(texts):
        best = max((similarity(text, other) for other in texts[:number]), default=0)
        assert found.best[number] == pytest.approx(float(best) if best >= Fraction(4, 5) else 0)
        assert found.duplicates[number] == (best >= Fraction(9, 10))
        if best >= Fraction(4, 5):
            nearest = found.nearest[number]
            assert similarity(text, texts[nearest]) == best
            assert all(similarity(text, other) < best for other in texts[:nearest])
            assert found.groups[number] == found.groups[nearest]
        else:
            assert found.nearest[number] == -1
            assert found.groups[number] == number


def test_a_page_that_cannot_be_read_is_no_duplicate():
    assert truth([None, None, "", "", prose()]).best.tolist() == [0] * 5
    assert truth([]).groups.tolist() == []


def page(*blocks, **said):
    made = [Block(text, form, path) for path, (text, form) in enumerate(blocks, 1)]
    return Content(Blocks.of(made), **said)


def test_a_line_that_most_pages_of_a_folder_share_is_a_word():
    line, stories = prose(60), [prose(20) for _ in range(12)]
    shared = [page((line, Form.CONTENT), (story, Form.CONTENT)) for story in stories]
    other = page((prose(60), Form.CONTENT), (stories[0], Form.CONTENT))
    assert not truth([*shared, other], address="http://a.example/{}").duplicates.any()
    # Another edition of the folder has another line: its pages are the same.
    again = prose(60)
    edition = [page((again, Form.CONTENT), (story, Form.CONTENT)) for story in stories]
    texts = Texts()
    for name, pages in (("one", shared), ("two", edition)):
        for number, each in enumerate(pages):
            texts.add((f"http://a.example/{name}/{number}", each))
    texts.learn_template(np.ones(24, bool))
    assert truth_of(texts).nearest.tolist() == [-1] * 12 + list(range(12))


def test_copies_show_no_template():
    text = "\n".join(prose(10) for _ in range(4))
    copies = [f"{text}\nword{number}" for number in range(12)]
    found = truth(copies, address="http://a.example/?sid={}", kept=np.arange(12) == 0)
    assert found.duplicates.sum() == 11


def test_what_says_almost_nothing_of_its_own_is_equal_only_word_for_word():
    line = prose(60)
    found = truth([f"{line}\n{word}" for word in [*map(str, range(10)), "3"]],
                  address="http://a.example/{}")  # fmt: skip
    assert found.nearest.tolist() == [-1] * 10 + [3]


def test_boilerplate_by_name_does_not_count_unless_it_alone_names_the_page():
    text = prose(40)
    one, two = prose(40), prose(40)
    assert truth(
        [
            page((one, Form.NAMED), (text, Form.CONTENT)),
            page((two, Form.NAMED), (text, Form.CONTENT)),
        ]
    ).duplicates.tolist() == [False, True]
    titled = [page((said, Form.NAMED), (text, Form.CONTENT), title=said) for said in (one, two)]
    assert not truth(titled).duplicates.any()


def test_an_audit_gives_the_texts_it_holds():
    content = page(
        ("one two", Form.CONTENT), ("a b", Form.LINKS), ("three", Form.CONTENT),
        ("ads", Form.NAMED),
    )  # fmt: skip
    shown = content_keys(replace(content, title="One", headings=("H",)), with_text=True)
    audit = Audit()
    kept = audit.kept("http://a.example/1", **shown | {"text": content.text})
    audit.drop("http://a.example/2", kept)
    audit.kept("http://a.example/1", text="again")
    audit.entries.append({**audit.entries[0], "page": "http://a.example/3", "text": None})
    [(name, found)] = audited_pages(entries(audit.lines(), "a"))
    assert (name, found.title, found.headings) == (
        "http://a.example/1", "One", ("H",)
    )  # fmt: skip
    assert {block.form: block.text.split() for block in found.blocks} == {
        Form.CONTENT: ["one", "two", "three"],
        Form.LINKS: ["a", "b"],
        Form.NAMED: ["ads"],
    }
    with pytest.raises(InputError, match="NEARDUP_AUDIT_TEXT"):
        list(audited_pages([]))
    assert unpacked("no base64") == unpacked("bm90IHpsaWI=") == ""


def pages(*texts):
    contents = (None if text is None else Content.of_text(text) for text in texts)
    return [(f"http://a.example/?sid={number}", each)
            for number, each in enumerate(contents)]  # fmt: skip


def collection(groups, changes=(0, 1, 2, 3, 8)):
    """Return pages in groups of these sizes; some in a group are less alike than duplicates."""
    texts = []
    for size in groups:
        first = prose()
        texts += [first, *(changed(first, SOURCE.choice(changes)) for _ in range(size - 1))]
    SOURCE.shuffle(texts)
    return pages(*texts)


def test_the_defaults_find_copies_and_lose_nothing():
    first, second = prose(), prose()
    told = []
    measured = measure(
        pages(first, second, first, changed(second, 60), changed(first, 1), None),
        progress=lambda *done: told.append(done),
    )
    default = measured.outcomes[0]
    assert default.configuration.settings == {}
    assert default.matches.tolist() == [-1, -1, 0, -1, 0, -1]
    assert (default.dropped, default.lost) == (2, 0)
    assert (default.precision.value, default.recall.value) == (1.0, 1.0)
    assert (1, "pages judged") in told
    assert told[-1] == (6, "pages compared")
    assert chosen(measured.outcomes) is default


def test_each_configuration_judges_all_pages_as_a_scan_would():
    found = collection([3] * 10)

    async def dropped(parameters):
        async with store_for(parameters) as store:
            analyser = Analyser(parameters)
            detector = Detector(analyser, store)
            verdicts = [
                await judge(analyser.page(content, page_id=number, url=name), detector)
                for number, (name, content) in enumerate(found)
            ]
        return [number for number, verdict in enumerate(verdicts) if verdict.is_duplicate]

    for outcome in measure(found).outcomes:
        expected = asyncio.run(dropped(outcome.configuration.parameters))
        assert np.flatnonzero(outcome.matches != -1).tolist() == expected


def test_precision_and_recall_are_counted():
    found = collection([4] * 5 + [1] * 5)
    measured = measure(found)
    for outcome in measured.outcomes:
        dropped, right = outcome.matches != -1, measured.truth.duplicates
        both = np.count_nonzero(dropped & right)
        assert outcome.precision.value == both / max(1, dropped.sum()) or not dropped.any()
        assert outcome.recall.value == both / right.sum()
        assert outcome.lost == np.count_nonzero(dropped & (measured.truth.best < 0.8))
    assert measured.outcomes[0].recall.value > 0.5


def test_configurations_are_settings_that_mean_them():
    planned = list(configurations())
    assert len({configuration.varied for configuration in planned}) == len(planned)
    for configuration in planned:
        read = read_settings(Settings(configuration.settings))
        assert read.parameters == configuration.parameters


def outcome(recall, lost, *, low=0.0, high=1.0, precision=1.0, dropped=100):
    configuration = Configuration(("x", "y"), {"x": "y"}, Parameters())
    return Outcome(
        configuration=configuration, precision=Share(precision, 0, 1),
        recall=Share(recall, low, high), dropped=dropped, lost=lost, matches=np.empty(0, int),
        differences={},
    )  # fmt: skip


def test_another_configuration_has_to_be_clearly_better_or_to_lose_less():
    default = outcome(0.8, 1, high=0.85)
    same, better = outcome(0.84, 1), outcome(0.86, 1)
    assert chosen([default, same, better]) is better
    for other in (same, outcome(0.99, 2), outcome(0.99, 1, precision=0.99), outcome(0.3, 0)):
        assert chosen([default, other]) is default
    # More than one drop in a hundred loses content.
    default, safe, safer = outcome(0.8, 2, high=0.85), outcome(0.3, 0), outcome(0.4, 0)
    assert chosen([default, outcome(0.99, 1), safe, safer]) is safer
    assert chosen([default]) is default


@given(st.integers(1, 500), st.integers(0, 500))
def test_an_interval_holds_its_share(whole, part):
    part = min(part, whole)
    found = share(part, whole, whole)
    assert 0 <= found.low <= found.value == part / whole <= found.high <= 1
    assert found.high - found.low > 0


def test_intervals_are_those_of_wilson():
    found = share(8, 10, 10)
    assert (round(found.low, 3), round(found.high, 3)) == (0.490, 0.943)
    assert share(0, 0, 0) == Share(1.0, 0.0, 1.0)
