"""URL rules in the formats of other tools."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from scrapy_neardup.dust.hindsight import Finding
from scrapy_neardup.dust.urlrule import (
    EMPTY,
    PARAMETER,
    PATH_PARAMETER,
    SEGMENT,
    SLASH,
    VALUE,
    WWW,
)

_REMOVAL, _SUBPATH, _NORMALIZER = 1, 2, 3
"""Order in which duplicate-url-discarder applies its processors."""


def dud_rules(findings: Iterable[Finding]) -> tuple[list[dict[str, Any]], list[Finding]]:
    """Return rules for duplicate-url-discarder, and the findings that they can't express.

    It removes parameters whatever their value, and segments at one place; ``www.`` and the
    last slash only together. Its format: https://pypi.org/project/duplicate-url-discarder/
    """
    rules: list[dict[str, Any]] = []
    left: list[Finding] = []
    removed: dict[str, list[str]] = {}
    normalized: dict[str, list[Finding]] = {}
    for finding in findings:
        rule = finding.rule
        if rule.kind == PARAMETER:
            removed.setdefault(finding.host, []).append(rule.what)
        elif rule.kind == SEGMENT and rule.by is None and rule.place == 0:
            rules.append(_dud(_SUBPATH, f"{finding.host}/{rule.what}/", "subpathRemoval", [0]))
        elif rule.kind in {WWW, SLASH}:
            normalized.setdefault(finding.host, []).append(finding)
        else:
            left.append(finding)
    rules += [_dud(_REMOVAL, host, "queryRemoval", names) for host, names in removed.items()]
    for host, both in normalized.items():
        if len(both) > 1:
            rules.append(_dud(_NORMALIZER, host, "normalizer", []))
        else:
            left += both
    return sorted(rules, key=lambda rule: (rule["order"], rule["urlPattern"]["include"])), left


def _dud(order: int, pattern: str, processor: str, args: list[Any]) -> dict[str, Any]:
    rule = {"order": order, "urlPattern": {"include": [pattern]}, "processor": processor}
    return rule | {"args": args} if args else rule


def deny_patterns(findings: Iterable[Finding]) -> tuple[list[str], list[Finding]]:
    """Return regular expressions of URLs that repeat another one, and findings without one.

    They match each URL that a rule would change, whether or not its page is known: they suit sites
    that also link the plain URLs.
    """
    patterns: list[str] = []
    left: list[Finding] = []
    for finding in findings:
        expression = _expression(finding)
        if expression is None:
            left.append(finding)
        else:
            patterns.append(rf"^https?://(?:www\.)?{re.escape(finding.host)}{expression}")
    return patterns, left


_EXPRESSIONS = {
    PARAMETER: r"/[^?#]*\?(?:[^#]*&)?{what}(?:[=&#]|$)",
    VALUE: r"/[^?#]*\?(?:[^#]*&)?{what}(?:[&#]|$)",
    PATH_PARAMETER: r"/[^?#]*;{what}(?:[=;/?#]|$)",
}


def _expression(finding: Finding) -> str | None:
    rule, what = finding.rule, re.escape(finding.rule.what)
    if rule.kind == SEGMENT:
        if rule.place >= 0:
            return rf"(?:/[^/?#]*){{{rule.place}}}/{what}(?:[/?#]|$)"
        return rf"/(?:[^?#]*/)?{what}(?:/[^/?#]*){{{-1 - rule.place}}}(?:[?#]|$)"
    if rule.kind == EMPTY and "+" not in what:
        path, _, query = rule.what.partition("?")
        shape = re.escape(path).replace("N", "[0-9a-zA-Z_-]+").replace(r"\*", "[^/?#]*")
        return rf"{shape}\?" if query else rf"{shape}$"
    expression = _EXPRESSIONS.get(rule.kind)
    return expression and expression.format(what=what)
