"""The exceptions of this package.

Every message names the setting, option or file that is wrong and says what to do about it.
"""

INSTALL = "pip install '.{}' in a clone of scrapy-neardup"
"""The install command for messages, with braces for an extra."""


class NeardupError(Exception):
    """Base of every error that scrapy-neardup raises on purpose."""


class ConfigurationError(NeardupError, ValueError):
    """A setting, option or argument has a wrong value."""


class InputError(NeardupError):
    """An input file or record can't be read; the message names it."""


class OutputError(NeardupError):
    """A file can't be written, perhaps because the disk is full; the message names it."""


class TooComplexError(InputError):
    """A page isn't read because that would take seconds of CPU."""


class UnjudgedError(NeardupError):
    """A page of a crawl can't be judged, for a `reason` of `scrapy_neardup.verdict.Reason`."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail)
        self.reason = reason


class NoFeaturesError(NeardupError, ValueError):
    """A text has no tokens, and so no fingerprint (not the fingerprint 0)."""


class StoreError(NeardupError):
    """Base of the errors of stores."""

    reason = "store-error"
    """`Reason` of the verdict on a page that is unjudged because of this error."""


class StoreUnavailableError(StoreError):
    """The store doesn't answer; a later call may succeed."""


class StoreLockedError(StoreError):
    """Another process, or another crawler of this process, has the store open."""


class StoreMismatchError(StoreError):
    """The store was made with other parameters; the message shows both."""


class StoreCorruptError(StoreError):
    """The store's content is damaged, or belongs to another program; none of it was changed."""
