# Whether a text may hold a clock, for walk.pyx: `scrapy_neardup.text.clocks`.
#
# The answer is yes for each text with a clock, and for few others; which it is, Python tells.

cdef object is_unit
cdef set counted_ends
cdef size_t max_line
cdef bytes line_end

cdef enum:
    FIRST_DECIMAL = 0xD9  # the first byte of U+0660, the least digit beyond ASCII
    LONGEST_UNIT = 64  # bytes of a word, and more than of any unit


cdef set_up_clocks(clocks):
    """Take what `scrapy_neardup.text.clocks` knows."""
    global is_unit, counted_ends, max_line, line_end
    is_unit, max_line, line_end = clocks.is_unit, clocks.MAX_LINE, clocks.LINE_END.encode()
    counted_ends = {end.encode() for end in clocks.COUNTED_ENDS.split()}


cdef inline bint is_digit(uint8_t byte) noexcept nogil:
    return 48 <= byte <= 57


cdef inline bint is_letter(uint8_t byte) noexcept nogil:
    """Return whether a byte may be of a letter: all may that aren't ASCII."""
    return 97 <= (byte | 32) <= 122 or byte >= 0x80


cdef inline bint parts_numbers(uint8_t byte) noexcept nogil:
    return byte == c"-" or byte == c"/" or byte == c"."


cdef inline size_t digits(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Return how many digits stand here."""
    cdef size_t count = 0
    while at + count < end and is_digit(at[count]):
        count += 1
    return count


cdef inline bint folds(const uint8_t* at) noexcept nogil:
    """Return whether a character beyond ASCII may be one of a unit, or of a lower-case letter.

    That is, whether it is one of U+00B5, U+0130, U+0131, U+017F, U+039C, U+03BC, U+212A.
    """
    cdef uint8_t first = at[0]
    return first == 0xC2 or first == 0xC4 or first == 0xC5 or first == 0xCE or (
        first == 0xE2 and at[1] == 0x84
    )


cdef inline int space_before(const uint8_t* start, const uint8_t* at) noexcept nogil:
    """Return the bytes of the white space that ends here; 0 if none does."""
    cdef int size = 1
    while at - size > start and (at[-size] & 0xC0) == 0x80:
        size += 1
    return size if at > start and space(at - size, at) == size else 0


cdef inline uint32_t decode(const uint8_t* at) noexcept nogil:
    """Return a character of two bytes or more."""
    if at[0] < 0xE0:
        return (at[0] & 0x1F) << 6 | at[1] & 0x3F
    if at[0] < 0xF0:
        return (at[0] & 0xF) << 12 | (at[1] & 0x3F) << 6 | at[2] & 0x3F
    return (at[0] & 7) << 18 | (at[1] & 0x3F) << 12 | (at[2] & 0x3F) << 6 | at[3] & 0x3F


cdef bint begins_clock(
    const uint8_t* first, const uint8_t* after, const uint8_t* end
) except -1:
    """Return whether a clock may begin with the digits from `first` to `after`."""
    cdef const uint8_t* at = after + 1
    cdef size_t count
    if after < end and after[0] == c":":
        return after - first <= 2 and digits(at, end) >= 2
    if after < end and parts_numbers(after[0]):
        count = digits(at, end)
        at += count
        if 1 <= count <= 2 and at < end and parts_numbers(at[0]):
            count = digits(at + 1, end)
            if count == 2 or count == 4 or count == 1 and after - first == 4:
                return True
    at = after
    while at < end and (is_digit(at[0]) or at[0] == c"." or at[0] == c","):
        at += 1
    if at < end:
        at += space(at, end)
    after = at
    while at < end and is_letter(at[0]) and (at - after < LONGEST_UNIT or (at[0] & 0xC0) == 0x80):
        at += 1
    if at == after or after[0] >= 0x80 and not folds(after):
        return False
    return is_unit(PyUnicode_DecodeUTF8(<const char*>after, at - after, NULL))


cdef bint is_year_of_date(const uint8_t* start, const uint8_t* year) noexcept nogil:
    """Return whether the day and the month of a date may end before this year."""
    cdef const uint8_t* at = year
    cdef int size = space_before(start, at)
    if not size:
        return False
    at -= size
    if at > start and at[-1] == c",":
        at -= 1
    if at > start and at[-1] == c".":
        at -= 1
    while at > start and is_letter(at[-1]):
        at -= 1
    if at > start and is_digit(at[-1]):
        return True
    size = space_before(start, at)
    if not size:
        return False
    at -= size
    if at > start and at[-1] == c".":
        at -= 1
    while at > start and is_letter(at[-1]):
        at -= 1
    return at > start and is_digit(at[-1])


cdef bint is_counted_before(const uint8_t* start, const uint8_t* number) except -1:
    """Return whether a word that counts visitors, say, may end before this number."""
    cdef const uint8_t* at = number
    cdef const uint8_t* letter
    cdef int size = space_before(start, at)
    if not size:
        return at > start and at[-1] == c"#"
    at -= size
    if at == start:
        return False
    if at[-1] == c"#":
        return True
    if at[-1] == c":" or at[-1] == c".":
        at -= 1
    if at - start < 2:
        return False
    letter = at
    for size in range(3):
        while letter > start and (letter[-1] & 0xC0) == 0x80:
            letter -= 1
        letter -= letter > start
        if letter[0] >= 0x80:
            return folds(letter)
    if at[-2] | 32 == c"n" and (at[-1] | 32 == c"o" or at[-1] | 32 == c"r"):
        return True
    if at - start < 3:
        return False
    return PyBytes_FromStringAndSize(<const char*>at - 3, 3).lower() in counted_ends


cdef inline bint is_near_clock(
    const uint8_t* start, const uint8_t* first, const uint8_t* after, const uint8_t* end
) except -1:
    """Return whether the digits from `first` to `after` may be of a clock."""
    cdef uint8_t before = first[-1] if first > start else 32
    if not (before == c"_" or before == c"." or before == c"," or before == c"-") and (
        before >= 0x80 or not is_letter(before)
    ) and begins_clock(first, after, end):
        return True
    if after - first == 4 and (
        first[0] == c"1" and first[1] == c"9" or first[0] == c"2" and first[1] == c"0"
    ) and is_year_of_date(start, first):
        return True
    return is_counted_before(start, first)


cdef inline int numbers_in(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Return 1 if a line holds a digit, plus 2 if it may hold one beyond ASCII; without a branch."""
    cdef uint8_t digit = 0, other = 0
    cdef Py_ssize_t i
    for i in range(end - at):
        digit |= <uint8_t>(at[i] - 48) < 10
        other |= at[i] >= FIRST_DECIMAL
    return digit + 2 * other


cdef bint may_hold_clock(const uint8_t* start, const uint8_t* end) except -1:
    """Return whether a line may hold a clock, or has several lines and a digit."""
    cdef const uint8_t* at = start
    cdef const uint8_t* after = end
    cdef int found = numbers_in(start, end)
    cdef bint has_lines = False
    while found & 2 and at < end:
        if at[0] == 0xE2:  # no digit, but U+2028
            has_lines = has_lines or memcmp(at, PyBytes_AS_STRING(line_end), 3) == 0
        elif at[0] >= FIRST_DECIMAL and not 0xE2 < at[0] < 0xEA and Py_UNICODE_ISDECIMAL(decode(at)):
            return True
        at += 1
    if not found & 1 or has_lines:
        return found & 1
    at = start
    strip(&at, &after)
    if <size_t>(after - at) > max_line and characters(at, after) > max_line:
        return False
    while at < end:
        if not is_digit(at[0]):
            at += 1
            continue
        after = at + digits(at, end)
        if is_near_clock(start, at, after, end):
            return True
        at = after + 1
    return False
