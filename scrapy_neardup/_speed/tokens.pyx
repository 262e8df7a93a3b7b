# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Text to token hashes: `scrapy_neardup.text.tokens` and `scrapy_neardup.fingerprints.hashing`.

Characters are looked up in the table of the Python code, and each token is hashed as it ends.
"""

from unicodedata import normalize

import numpy as np

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

include "utf8.pxi"

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text)
    int PyUnicode_KIND(object text)
    void* PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    uint32_t PyUnicode_READ(int kind, void* data, Py_ssize_t index)

cdef enum:
    SPACE = 32
    PLANES_0_AND_1 = 0x20000
    CHARACTER = 0x1FFFFF
    MARK = 1  # what the table says of a character in bits 24 and 25
    DROPPED = 2
    TOKEN = 3
    WORD = 8
    LONGEST = 64  # bytes of a token that is hashed word by word

cdef struct Reading:
    Buffer token
    uint64_t* found
    size_t count
    size_t room


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
    """

    cdef uint64_t seed, m1, m2
    cdef object digest_long, classify
    cdef const uint32_t[::1] kinds
    cdef uint8_t[128] ascii

    def __init__(self, uint64_t seed, uint64_t m1, uint64_t m2, digest_long, kinds, classify):
        self.seed, self.m1, self.m2 = seed, m1, m2
        self.digest_long, self.kinds, self.classify = digest_long, kinds, classify
        for code in range(128):
            character = chr(code)
            is_part = character.isalnum() or character == "_"
            self.ascii[code] = ord(character.lower()) if is_part else SPACE

    def tokens(self, text):
        """Return the hash of each token of a text."""
        cdef Reading reading = Reading(Buffer(NULL, 0, 0), NULL, 0, 0)
        try:
            self.read(text, &reading)
            return taken(&reading)
        finally:
            free(reading.token.data)
            free(reading.found)

    def tokens_of_each(self, texts):
        """Return the tokens of all texts, and their number in each."""
        cdef Reading reading = Reading(Buffer(NULL, 0, 0), NULL, 0, 0)
        cdef size_t before = 0, i = 0
        texts = tuple(texts)
        number_of_each = np.empty(len(texts), np.int64)
        cdef int64_t[::1] counts = number_of_each
        try:
            for text in texts:
                self.read(text, &reading)
                counts[i] = reading.count - before
                before = reading.count
                i += 1
            return taken(&reading), number_of_each
        finally:
            free(reading.token.data)
            free(reading.found)

    cdef int read(self, text, Reading* reading) except -1:
        cdef Py_ssize_t i
        cdef const uint8_t* data
        cdef uint8_t byte
        cdef void* characters
        cdef int kind
        cdef uint32_t code
        cdef uint32_t entry
        cdef bint behind_token = False
        if not isinstance(text, str):  # a subclass of it is a text, None is not
            raise TypeError(f"expected str, got {type(text).__name__}")
        if PyUnicode_IS_ASCII(text):
            data = <const uint8_t*>PyUnicode_DATA(text)
            for i in range(PyUnicode_GET_LENGTH(text)):
                byte = self.ascii[data[i]]
                if byte != SPACE:
                    add(&reading.token, byte)
                elif reading.token.size:
                    self.end(reading)
            self.end(reading)
            return 0
        text = normalize("NFC", text)
        kind, characters = PyUnicode_KIND(text), PyUnicode_DATA(text)
        for i in range(PyUnicode_GET_LENGTH(text)):
            code = PyUnicode_READ(kind, characters, i)
            if code < PLANES_0_AND_1:
                entry = self.kinds[code] or self.classify(code)
            elif code < 0x40000:  # Han
                entry = TOKEN << 24 | code
            elif code >> 16 == 0xE:  # variation selectors, tags
                entry = DROPPED << 24
            else:
                entry = SPACE
            if entry >> 24 == DROPPED:
                continue
            if entry >> 24 == TOKEN or (behind_token and entry >> 24 != MARK):
                self.end(reading)
                behind_token = entry >> 24 == TOKEN
            if entry == SPACE:
                self.end(reading)
            else:
                encode(&reading.token, entry & CHARACTER)
        self.end(reading)
        return 0

    cdef inline uint64_t mix(self, uint64_t value) noexcept:
        value = (value ^ value >> 30) * self.m1
        value = (value ^ value >> 27) * self.m2
        return value ^ value >> 31

    cdef inline int end(self, Reading* reading) except -1:
        """Hash the token that is being read, if there is one."""
        cdef size_t left = reading.token.size, room
        cdef char* data = reading.token.data
        cdef uint64_t value = self.seed, word
        cdef uint64_t* moved
        if not left:
            return 0
        if left > LONGEST:
            value = self.digest_long(PyBytes_FromStringAndSize(data, left))
        else:
            while left > WORD:
                memcpy(&word, data, WORD)
                value = self.mix(value ^ word)
                data += WORD
                left -= WORD
            memcpy(&word, data, WORD)  # there is room for it behind each token
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
        reading.token.size = 0
        return 0


cdef inline int add(Buffer* token, uint8_t byte) except -1:
    """Add a byte, and leave room for a word behind it."""
    if token.size + WORD >= token.room:
        token.size += WORD
        put(token, b"", 1)
        token.size -= WORD + 1
    token.data[token.size] = byte
    token.size += 1
    return 0


cdef inline int encode(Buffer* token, uint32_t code) except -1:
    """Add a character as UTF-8."""
    if code < 0x80:
        return add(token, code)
    if code < 0x800:
        add(token, 0xC0 | code >> 6)
    else:
        if code < 0x10000:
            add(token, 0xE0 | code >> 12)
        else:
            add(token, 0xF0 | code >> 18)
            add(token, 0x80 | (code >> 12 & 0x3F))
        add(token, 0x80 | (code >> 6 & 0x3F))
    return add(token, 0x80 | (code & 0x3F))


cdef taken(Reading* reading):
    """Return what was found as an array."""
    hashes = np.empty(reading.count, np.uint64)
    cdef uint64_t[::1] values = hashes
    if reading.count:
        memcpy(&values[0], reading.found, reading.count * sizeof(uint64_t))
    return hashes
