# SPDX-License-Identifier: Apache-2.0
"""The exception of the package; the extension raises it."""


class Error(ValueError):
    """A refusal: what was seen, where, and what would have been accepted there.

    ``str()`` of it is one sentence. ``code`` is the name of the kind of refusal, e.g. "unknown_qualifier"; ``where``,
    ``seen`` and ``accepted`` are the parts of the sentence, each of which may be empty.
    """

    def __init__(self, code: str, where: str, seen: str, accepted: str, message: str) -> None:
        super().__init__(code, where, seen, accepted, message)
        self.code = code
        self.where = where
        self.seen = seen
        self.accepted = accepted
        self.message = message

    def __str__(self) -> str:
        return self.message

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Error) and self.args == other.args

    __hash__ = ValueError.__hash__
