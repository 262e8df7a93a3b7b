"""Text to token hashes: `scrapy_neardup.text.tokens` and `scrapy_neardup.fingerprints.hashing`.

Characters are looked up in the table of the Python code, and each token is hashed as it ends.
"""

import numpy as np

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text)
    int PyUnicode_KIND(object text)
    void* PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    uint32_t PyUnicode_READ(int kind, void* data, Py_ssize_t index)

cdef enum:
    SPACE = 32
    APART = 0x80  # an ASCII character that counts, but not as part of a word
    HYPHEN = 45
    PLANES_0_AND_1 = 0x20000
    CHARACTER = 0x1FFFFF
    MARK = 1  # entries of the table for a character, bits 24 and 25
    DROPPED = 2
    TOKEN = 3
    WORD = 8
    LONGEST = 64  # bytes of a token that is hashed word by word
    LONGEST_CHARACTER = 4  # bytes of UTF-8

cdef class Reading:
    """Texts that are read, and the tokens that were found."""

    cdef uint8_t* token
    """The bytes of the current token, with room for a word after them."""
    cdef size_t size, longest
    """Number of bytes of that token, and of the longest that fits."""
    cdef bint in_signs, touched
    """Whether it is a run of signs, and whether a word precedes it."""
    cdef uint64_t* found
    cdef size_t count, room

    def __dealloc__(self):
        free(self.token)
        free(self.found)


cdef class Hasher:
    """The token hash of one key; see the class of this name in `fingerprints.hashing`.

    Parameters
    ----------
    seed, m1, m2
        Of the mixer.
    digest_long
        The hash of a token of more than `LONGEST` bytes.
    kinds, classify
        What becomes of each character, 0 where it isn't known; and what returns that and notes it.
    composed
        Returns a text in NFC.
    every
        Whether each visible character counts.
    """

    cdef uint64_t seed, m1, m2
    cdef object digest_long, classify, composed
    cdef const uint32_t[::1] kinds
    cdef uint8_t[128] ascii
    cdef bint every

    def __init__(
        self, uint64_t seed, uint64_t m1, uint64_t m2, digest_long, kinds, classify, composed, *,
        bint every=False,
    ):
        self.seed, self.m1, self.m2 = seed, m1, m2
        self.digest_long, self.kinds, self.classify = digest_long, kinds, classify
        self.composed, self.every = composed, every
        for code in range(128):
            entry = classify(code)
            is_part = chr(code).isalnum() or chr(code) == "_"
            is_apart = entry != SPACE and not is_part
            self.ascii[code] = APART | code if is_apart else entry

    def tokens(self, text):
        """Return the hash of each token of a text."""
        cdef Reading reading = Reading()
        self.read(text, reading)
        return taken(reading)

    def tokens_of_each(self, texts):
        """Return the tokens of all texts, and their number in each."""
        cdef Reading reading = Reading()
        cdef size_t before = 0, i = 0
        texts = tuple(texts)
        number_of_each = np.empty(len(texts), np.int64)
        cdef int64_t[::1] counts = number_of_each
        for text in texts:
            self.read(text, reading)
            counts[i] = reading.count - before
            before = reading.count
            i += 1
        return taken(reading), number_of_each

    cdef int read(self, text, Reading reading) except -1:
        if not isinstance(text, str):  # a subclass of it is a text, None is not
            raise TypeError(f"expected str, got {type(text).__name__}")
        if PyUnicode_IS_ASCII(text):
            make_room(reading, PyUnicode_GET_LENGTH(text))
            self.read_ascii(
                <const uint8_t*>PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text), reading
            )
        else:
            if not is_composed(text):
                text = self.composed(text)
            make_room(reading, LONGEST_CHARACTER * PyUnicode_GET_LENGTH(text))
            self.read_any(text, reading)
        if reading.in_signs:
            self.end_signs(reading, False)
        else:
            self.end(reading)
        return 0

    cdef int read_ascii(
        self, const uint8_t* data, Py_ssize_t length, Reading reading
    ) except -1:
        cdef uint8_t* token = reading.token
        cdef uint8_t value
        cdef size_t size = 0
        cdef Py_ssize_t i
        for i in range(length):
            value = self.ascii[data[i]]
            if value & APART:
                reading.size = size
                self.apart(reading, data[i])
                size = reading.size
                continue
            if reading.in_signs:
                reading.size = size
                self.end_signs(reading, value != SPACE)
                size = 0
            if value != SPACE:
                token[size] = value
                size += 1
            elif size:
                reading.size = size
                self.end(reading)
                size = 0
        reading.size = size
        return 0

    cdef int apart(self, Reading reading, uint8_t character) except -1:
        """Read a sign, or with `every` a character that is a token by itself."""
        if self.every:
            self.end(reading)
        elif not reading.in_signs:
            reading.touched = reading.size > 0
            self.end(reading)
            reading.in_signs = True
        reading.token[reading.size] = character
        reading.size += 1
        if self.every:
            self.end(reading)
        return 0

    cdef int end_signs(self, Reading reading, bint touches) except -1:
        """End a run of signs, which a word may follow."""
        cdef uint8_t first = reading.token[0]
        cdef bint counts = reading.touched or touches
        if reading.size == 1 and first == HYPHEN and reading.touched and touches:
            counts = False
        elif reading.size == 1 and (first == c"+" or first == c"="):
            counts = True
        reading.in_signs = False
        if counts:
            self.end(reading)
        reading.size = 0
        return 0

    cdef int read_any(self, object text, Reading reading) except -1:
        cdef int kind = PyUnicode_KIND(text)
        cdef void* characters = PyUnicode_DATA(text)
        cdef Py_ssize_t i
        cdef uint32_t code, entry
        cdef bint behind_token = False
        for i in range(PyUnicode_GET_LENGTH(text)):
            code = PyUnicode_READ(kind, characters, i)
            if code < 128:
                entry = self.ascii[code]
                if behind_token:
                    self.end(reading)
                    behind_token = False
                if entry & APART and self.every:  # as the marks behind it are its own
                    self.end(reading)
                    entry, behind_token = code, True
                elif entry & APART:
                    self.apart(reading, code)
                    continue
                if reading.in_signs:
                    self.end_signs(reading, entry != SPACE)
                if entry != SPACE:
                    reading.token[reading.size] = entry
                    reading.size += 1
                elif reading.size:
                    self.end(reading)
                continue
            if code < PLANES_0_AND_1:
                entry = self.kinds[code]
                if not entry:
                    entry = self.classify(code)
            elif code < 0x40000:  # Han
                entry = TOKEN << 24 | code
            elif code >> 16 == 0xE:  # variation selectors, tags
                entry = DROPPED << 24
            else:
                entry = SPACE
            if entry >> 24 == DROPPED:
                continue
            if reading.in_signs:
                self.end_signs(reading, entry != SPACE and entry >> 24 != TOKEN)
            if entry >> 24 == TOKEN or (behind_token and entry >> 24 != MARK):
                self.end(reading)
                behind_token = entry >> 24 == TOKEN
            if entry == SPACE:
                self.end(reading)
            else:
                reading.size += encode(reading.token + reading.size, entry & CHARACTER)
        return 0

    cdef inline uint64_t mix(self, uint64_t value) noexcept:
        value = (value ^ value >> 30) * self.m1
        value = (value ^ value >> 27) * self.m2
        return value ^ value >> 31

    cdef inline int end(self, Reading reading) except -1:
        """Hash the current token, if there is one."""
        cdef size_t left = reading.size, room
        cdef const uint8_t* data = reading.token
        cdef uint64_t value = self.seed, word
        cdef uint64_t* moved
        if not left:
            return 0
        if left > LONGEST:
            value = self.digest_long(PyBytes_FromStringAndSize(<const char*>data, left))
        else:
            while left > WORD:
                memcpy(&word, data, WORD)
                value = self.mix(value ^ word)
                data += WORD
                left -= WORD
            memcpy(&word, data, WORD)
            if left < WORD:
                word &= (<uint64_t>1 << 8 * left) - 1
            value = self.mix(value ^ word)
        if reading.count == reading.room:
            room = 2 * reading.room + 256
            moved = <uint64_t*>realloc(reading.found, room * sizeof(uint64_t))
            if moved == NULL:
                raise MemoryError
            reading.found, reading.room = moved, room
        reading.found[reading.count] = value
        reading.count += 1
        reading.size = 0
        return 0


cdef int make_room(Reading reading, size_t longest) except -1:
    """Make room for a token of this number of bytes, and for a word after it."""
    cdef uint8_t* moved
    if reading.token == NULL or reading.longest < longest:
        moved = <uint8_t*>realloc(reading.token, longest + WORD)
        if moved == NULL:
            raise MemoryError
        reading.token, reading.longest = moved, longest
    return 0


cdef bint is_composed(object text) noexcept:
    """Return whether a text surely is its own NFC.

    It is if it holds characters alone that have no other form and join with none before them:
    Latin, Greek, Cyrillic, Armenian, Han, kana, Hangul, punctuation.
    """
    cdef int kind = PyUnicode_KIND(text)
    cdef void* characters = PyUnicode_DATA(text)
    cdef Py_ssize_t i
    cdef uint32_t code
    for i in range(PyUnicode_GET_LENGTH(text)):
        code = PyUnicode_READ(kind, characters, i)
        if code >= 0x300 and not (
            0x388 <= code < 0x483 or 0x48A <= code < 0x591 or 0x1E00 <= code < 0x1F00
            or 0x2002 <= code < 0x20D0 or 0x2E00 <= code < 0x302A or 0x3030 <= code < 0x3099
            or 0x309B <= code < 0xA66F or 0xAC00 <= code < 0xD7A4 or 0xFE30 <= code < 0x10000
        ):
            return False
    return True


cdef inline int encode(uint8_t* at, uint32_t code) noexcept:
    """Write a character as UTF-8; return its number of bytes."""
    if code < 0x80:
        at[0] = code
        return 1
    if code < 0x800:
        at[0] = 0xC0 | code >> 6
        at[1] = 0x80 | (code & 0x3F)
        return 2
    if code < 0x10000:
        at[0] = 0xE0 | code >> 12
        at[1] = 0x80 | (code >> 6 & 0x3F)
        at[2] = 0x80 | (code & 0x3F)
        return 3
    at[0] = 0xF0 | code >> 18
    at[1] = 0x80 | (code >> 12 & 0x3F)
    at[2] = 0x80 | (code >> 6 & 0x3F)
    at[3] = 0x80 | (code & 0x3F)
    return 4


cdef taken(Reading reading):
    """Return the tokens found as an array."""
    hashes = np.empty(reading.count, np.uint64)
    cdef uint64_t[::1] values = hashes
    if reading.count:
        memcpy(&values[0], reading.found, reading.count * sizeof(uint64_t))
    return hashes
