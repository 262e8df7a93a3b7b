# Text as UTF-8: a buffer that grows, and what `str.strip` and `str.isspace` see.

cdef struct Buffer:
    char* data
    size_t size
    size_t room


cdef int put(Buffer* buffer, const char* data, size_t size) except -1:
    cdef char* moved
    if not size:  # `data` may be NULL
        return 0
    if buffer.size + size > buffer.room:
        moved = <char*>realloc(buffer.data, 2 * (buffer.size + size) + 256)
        if moved == NULL:
            raise MemoryError
        buffer.data = moved
        buffer.room = 2 * (buffer.size + size) + 256
    memcpy(buffer.data + buffer.size, data, size)
    buffer.size += size
    return 0


cdef bytes contents(const Buffer* buffer):
    return PyBytes_FromStringAndSize(buffer.data, buffer.size)


cdef inline int space(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Return the bytes of the white space, by `str.isspace`, that begins here; 0 if none does."""
    cdef uint8_t first = at[0], second, third
    if first < 0x80:
        return first == 32 or 9 <= first <= 13 or 28 <= first <= 31
    if first == 0xC2:
        return 2 if at + 1 < end and (at[1] == 0x85 or at[1] == 0xA0) else 0
    if (first == 0xE1 or first == 0xE2 or first == 0xE3) and at + 2 < end:
        second, third = at[1], at[2]
        if first == 0xE1:  # U+1680
            return 3 if second == 0x9A and third == 0x80 else 0
        if first == 0xE3:  # U+3000
            return 3 if second == 0x80 and third == 0x80 else 0
        if second == 0x80:  # U+2000 to U+200A, U+2028, U+2029, U+202F
            return 3 if third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF else 0
        return 3 if second == 0x81 and third == 0x9F else 0  # U+205F
    return 0


cdef int strip(const uint8_t** start, const uint8_t** end) noexcept nogil:
    """Move both ends of a text beyond its white space."""
    cdef const uint8_t* first = start[0]
    cdef const uint8_t* last = end[0]
    cdef int size
    while first < last:
        size = space(first, last)
        if not size:
            break
        first += size
    while first < last:
        if last[-1] < 0x80:
            size = 1
        elif last - first >= 2 and last[-2] == 0xC2:
            size = 2
        elif last - first >= 3:
            size = 3
        else:
            break
        if space(last - size, last) != size:
            break
        last -= size
    start[0] = first
    end[0] = last
    return 0


cdef inline size_t characters(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Return the number of characters: bytes that continue none."""
    cdef size_t count = 0
    while at < end:
        count += (at[0] & 0xC0) != 0x80
        at += 1
    return count
