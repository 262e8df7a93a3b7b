# The walk itself, for walk.pyx: `Walker` of `scrapy_neardup.text.walk`.
#
# The methods have the names of those there and do the same in the same order, on UTF-8: text becomes
# a string when its block ends.

cdef struct Around:
    int depth
    int form
    uint32_t path
    bint in_section


cdef class Walker:
    """One pass over one tree; `scrapy_neardup.text.walk.Walker` says what its fields are."""

    cdef bint boilerplate, frames, in_section, joins, in_row, has_boilerplate
    cdef int form, link_depth, heading_depth, svg_depth
    cdef uint32_t path
    cdef size_t linked, characters
    cdef Around* around
    cdef size_t around_count, around_room
    cdef Buffer parts, link, heading, run
    cdef Buffer forms, paths, joined  # of the blocks
    cdef list texts, headings
    cdef dict sources
    cdef set data, links
    cdef str title, base, canonical
    cdef int linked_days

    def __cinit__(self, bint boilerplate, bint frames):
        self.boilerplate, self.frames = boilerplate, frames
        self.texts, self.headings = [], []
        self.sources, self.data, self.links = {}, set(), set()
        self.title = self.base = self.canonical = ""

    def __dealloc__(self):
        free(self.around)
        free(self.parts.data)
        free(self.link.data)
        free(self.heading.data)
        free(self.run.data)
        free(self.forms.data)
        free(self.paths.data)
        free(self.joined.data)

    cdef object walk(self, const xmlNode* root):
        cdef const xmlNode* node
        cdef const xmlNode* parent = root
        cdef int depth = 1
        if self.start(root, 1):
            node = root.children
            while True:
                while node == NULL:
                    self.end(depth)
                    depth -= 1
                    if not depth:
                        break
                    node, parent = parent.next, parent.parent
                if not depth:
                    break
                if node.type == 3 or node.type == 4:
                    node = self.text_from(node)
                elif node.type == 1:
                    if self.start(node, depth + 1):
                        if node.children != NULL:
                            depth += 1
                            parent, node = node, node.children
                            continue
                        self.end(depth + 1)
                    node = node.next
                elif node.type == 8 or node.type == 7:
                    node = node.next
                else:
                    raise _Unusual
            self.flush()
        return Walked(
            self.blocks(), self.title, self.headings, self.sources, self.data, self.linked_days,
            self.has_boilerplate, self.base, self.links, self.canonical,
        )

    cdef object blocks(self):
        paths = array("I")
        paths.frombytes(contents(&self.paths))
        return Blocks(tuple(self.texts), contents(&self.forms), paths, contents(&self.joined))

    # ---- elements ----

    cdef bint start(self, const xmlNode* element, int depth) except -1:
        """Open an element; return whether to read its content."""
        cdef const Tag* tag
        cdef const char* classes
        cdef const char* href
        if element.ns != NULL:
            raise _Unusual
        tag = find_tag(<const char*>element.name)
        if tag.kind == BLOCK or tag.kind == PLAIN:
            self.block(element, tag, depth)
        elif tag.kind == INLINE:
            if element.properties != NULL:
                if tag.flags & NAMED_INLINE:
                    classes = get(element, b"class")
                    if judged(get(element, b"id")).named or judged(classes).named:
                        if self.parts.size:
                            self.flush()
                        self.open(element, tag, find_name(classes), depth, NAMED)
                self.media(element, False)
        elif tag.kind == LINK:
            href = get(element, b"href")
            if not self.link_depth and href != NULL:
                self.link_depth = depth
                self.link.size = 0
                if self.form == NAMED:
                    self.add_link_name(href)
            self.media(element, False)
        elif tag.kind == BREAK:  # each line is a row of its own
            self.flush()
            self.joins = False
        else:
            return self.special(element, tag, depth)
        return True

    cdef int add_link_name(self, const char* href) except -1:
        """Note the name of the page that a link leads to, as `media.link_name` does."""
        cdef const uint8_t* start = <const uint8_t*>href
        cdef const uint8_t* end = start + strcspn(href, b"#")
        cdef const uint8_t* path = start
        cdef const uint8_t* query = start + strcspn(href, b"?#")
        cdef const uint8_t* end_of_path = query
        cdef const uint8_t* at
        strip(&path, &end_of_path)
        while end_of_path > path and (end_of_path - 1)[0] == c"/":
            end_of_path -= 1
        at = end_of_path
        while at > path and (at - 1)[0] != c"/":
            at -= 1
        self.run.size = 0
        put(&self.run, <const char*>at, end_of_path - at)
        if query < end:
            query += 1
            strip(&query, &end)
            put(&self.run, b"?", 1)
            put(&self.run, <const char*>query, end - query)
        if self.run.size:
            self.links.add(PyUnicode_DecodeUTF8(self.run.data, self.run.size, NULL))
        return 0

    cdef inline int end(self, int depth) except -1:
        """Close the element at this depth."""
        cdef Around* last
        if self.around_count and self.around[self.around_count - 1].depth == depth:
            self.flush()
            self.around_count -= 1
            last = &self.around[self.around_count]
            self.form, self.path, self.in_section = last.form, last.path, last.in_section
        if self.link_depth == depth:
            self.link_depth = 0
            self.linked_days += self.is_day()
        elif self.heading_depth == depth:
            self.heading_depth = 0
            if self.form != OF_BOILERPLATE:
                heading = PyUnicode_DecodeUTF8(self.heading.data, self.heading.size, NULL)
                self.headings.append(titled(heading))
        elif self.svg_depth == depth:
            self.svg_depth = 0
        return 0

    cdef int block(self, const xmlNode* element, const Tag* tag, int depth) except -1:
        """Open an element that separates words."""
        cdef int form = CONTENT, role = 0
        cdef bint in_section = tag.flags & SECTION, own
        cdef const char* classes = NULL
        cdef const char* identity = NULL
        cdef const char* roles = NULL
        cdef const char* name
        cdef const Name* named
        cdef const xmlAttr* attribute = element.properties
        if self.parts.size:
            self.flush()
        while attribute != NULL:
            if attribute.ns != NULL:
                raise _Unusual
            name = <const char*>attribute.name
            if name[0] == c"c" and strcmp(name, b"class") == 0:
                classes = value_of(attribute)
            elif name[0] == c"i" and strcmp(name, b"id") == 0:
                identity = value_of(attribute)
            elif name[0] == c"r" and strcmp(name, b"role") == 0:
                roles = value_of(attribute)
            attribute = attribute.next
        if roles != NULL and roles[0] or tag.kind == BOILERPLATE or tag.kind == ENDS:
            if roles != NULL:
                role = role_of(roles)
            in_section = in_section or role & SECTION_ROLE
            own = tag.kind == ENDS and not (self.in_section or depth > max_depth)
            if tag.kind == BOILERPLATE or role & LANDMARK or own:
                form = OF_BOILERPLATE if self.boilerplate else CONTENT
                if tag.flags & BESIDE or role & BESIDE_ROLE:
                    form = NAMED
        if tag.kind == NOSCRIPT:
            form = OF_NOSCRIPT
        if form == CONTENT and tag.kind != PLAIN and tag.kind != HEADING:
            if judged(identity).named:
                form = NAMED
            named = judged(classes)
            if named.named:
                form = NAMED
        else:
            named = find_name(classes)
        self.open(element, tag, named, depth, form)
        if self.form == NAMED and (tag.flags & MAIN or role & MAIN_ROLE):
            self.form = CONTENT  # whatever it and the elements around it are named
        self.in_section = self.in_section or in_section
        self.media(element, tag.kind == OBJECT)
        return 0

    cdef inline int media(self, const xmlNode* element, bint is_medium) except -1:
        """Note what an element shows besides text; a ``noscript`` repeats what a script shows."""
        cdef bint again
        if self.form != OF_BOILERPLATE:
            again = self.form != OF_NOSCRIPT
            add_sources(element, is_medium, again, self.sources)
            if self.svg_depth:
                add_shape(element, &self.run, again, self.sources)
        return 0

    cdef int media_within(self, const xmlNode* element) except -1:
        """Note what media in an element show."""
        cdef const xmlNode* node = element.children
        while node != NULL:
            if node.type == 1:
                if node.ns != NULL:
                    raise _Unusual
                if find_tag(<const char*>node.name).flags & SHOWS:
                    self.media(node, True)
            elif node.type != 3 and node.type != 4 and node.type != 7 and node.type != 8:
                raise _Unusual
            node = following(node, element)
        return 0

    cdef int open(
        self, const xmlNode* element, const Tag* tag, const Name* classes, int depth, int form
    ) except -1:
        """Begin a block, and the state until the element ends; the block before has ended."""
        cdef Around* around
        cdef uint32_t step
        if self.around_count == self.around_room:
            around = <Around*>realloc(self.around, (2 * self.around_room + 64) * sizeof(Around))
            if around == NULL:
                raise MemoryError
            self.around, self.around_room = around, 2 * self.around_room + 64
        around = &self.around[self.around_count]
        around.depth, around.form = depth, self.form
        around.path, around.in_section = self.path, self.in_section
        self.around_count += 1
        self.form = max(self.form, form)
        self.joins = tag.flags & CELL
        if not self.joins:
            self.in_row = False
        step = crc(~self.path, b"/", 1)
        step = crc(step, <const char*>element.name, strlen(<const char*>element.name))
        step = crc(step, b".", 1)
        self.path = ~crc(step, classes.value + classes.size, classes.step_size)
        return 0

    cdef bint special(self, const xmlNode* element, const Tag* tag, int depth) except -1:
        """Open an element of one of the rarer kinds; return whether its content is read."""
        cdef const char* value
        cdef const char* kind
        if (
            tag.kind == BOILERPLATE or tag.kind == ENDS or tag.kind == OBJECT
            or tag.kind == NOSCRIPT
        ):
            self.block(element, tag, depth)
            return True
        if tag.kind == INPUT:
            self.block(element, tag, depth)
            value = get(element, b"value")
            if value != NULL and value[0]:
                kind = get(element, b"type")
                if (
                    kind == NULL
                    or PyUnicode_DecodeUTF8(kind, strlen(kind), NULL).strip().lower()
                    not in unshown_inputs
                ):
                    self.text(value, strlen(value))
            return True
        if tag.kind == VOID:
            put(&self.parts, b"\n", 1)
            if self.form != OF_BOILERPLATE:
                self.media(element, True)
            return True
        if tag.kind == HEADING:
            self.block(element, tag, depth)
            if not self.heading_depth:
                self.heading_depth = depth
                self.heading.size = 0
            return True
        if tag.kind == SVG:
            self.block(element, tag, depth)
            self.svg_depth = self.svg_depth or depth
            return True
        if tag.kind == TEMPLATE:
            value = get(element, b"shadowrootmode")
            if value == NULL or not value[0]:
                value = get(element, b"shadowroot")
            if value == NULL or not value[0]:
                return False
            self.block(element, tag, depth)
            return True
        if tag.kind == SKIPPED:
            if depth == 3 and not self.canonical and is_link_in_head(element):
                value = get(element, b"rel")
                if value != NULL and strlen(value) >= 9:
                    names = PyUnicode_DecodeUTF8(value, strlen(value), NULL).lower().split()
                    value = get(element, b"href") if "canonical" in names else NULL
                    if value != NULL:
                        self.canonical = PyUnicode_DecodeUTF8(value, strlen(value), NULL).strip()
        elif tag.kind == IGNORED:
            self.flush()
        elif tag.kind == TITLE:
            if not (self.title or self.svg_depth):
                self.title = titled(strings(element, &self.run))
        elif tag.kind == SCRIPT:
            if self.form != OF_BOILERPLATE:
                add_data(element, &self.run, self.data)
        elif tag.kind == MEDIA:
            put(&self.parts, b"\n", 1)
            if self.form != OF_BOILERPLATE:
                self.media(element, True)
                self.media_within(element)
                value = get(element, b"srcdoc") if self.frames else NULL
                if value != NULL and value[0]:
                    self.frame(framed(PyUnicode_DecodeUTF8(value, strlen(value), NULL)))
        elif tag.kind == BASE and not self.base:
            value = get(element, b"href")
            if value != NULL:
                self.base = PyUnicode_DecodeUTF8(value, strlen(value), NULL).strip()
        return False

    cdef int frame(self, frame) except -1:
        """Read the content of a frame as if it were here."""
        cdef bytes forms, paths, joined
        self.flush()
        forms, joined = frame.blocks.forms, frame.blocks.joined
        paths = frame.blocks.paths.tobytes()
        self.texts += frame.blocks.texts
        put(&self.forms, forms, len(forms))
        put(&self.paths, paths, len(paths))
        put(&self.joined, joined, len(joined))
        self.headings += frame.headings
        for source, number in frame.sources.items():
            if self.form != OF_NOSCRIPT or source not in self.sources:
                self.sources[source] = self.sources.get(source, 0) + number
        self.data |= frame.data
        return 0

    # ---- text ----

    cdef const xmlNode* text_from(self, const xmlNode* node) except? NULL:
        """Read the text that begins with this node; return the first node after it."""
        cdef const xmlNode* first = node
        cdef const char* content
        node = node.next
        if node == NULL or node.type != 3 and node.type != 4:
            content = <const char*>first.content
            if content != NULL:
                self.text(content, strlen(content))
            return node
        self.run.size = 0
        while first != NULL and (first.type == 3 or first.type == 4):
            put_text(&self.run, first)
            first = first.next
        self.text(self.run.data, self.run.size)
        return first

    cdef inline int text(self, const char* text, size_t size) except -1:
        cdef const uint8_t* start = <const uint8_t*>text
        cdef const uint8_t* end = start + size
        cdef size_t length
        put(&self.parts, text, size)
        strip(&start, &end)
        if start == end:
            return 0
        length = characters(start, end)
        self.characters += length
        if self.link_depth:
            self.linked += length
            put(&self.link, text, size)
        if self.heading_depth:
            put(&self.heading, text, size)
        return 0

    cdef int flush(self) except -1:
        """End the current block, if there is one."""
        cdef int form = self.form
        cdef bint is_linked
        cdef char form_byte, joined_byte
        if self.characters and form == OF_BOILERPLATE:
            self.has_boilerplate = self.in_row = True
        elif self.characters:
            is_linked = self.linked >= link_share * self.characters
            if form == CONTENT and is_linked:
                form = LINKS
            elif form == NAMED and is_linked:
                form = NAMED_LINKS
            form_byte, joined_byte = form, self.joins and self.in_row
            self.texts.append(PyUnicode_DecodeUTF8(self.parts.data, self.parts.size, NULL))
            put(&self.forms, &form_byte, 1)
            put(&self.paths, <const char*>&self.path, sizeof(self.path))
            put(&self.joined, &joined_byte, 1)
            self.in_row = True
        self.characters = self.linked = 0
        self.parts.size = 0
        if self.heading_depth:
            put(&self.heading, b" ", 1)
        return 0

    cdef bint is_day(self) except -1:
        """Return whether the link's text is the number of a day."""
        cdef const uint8_t* start = <const uint8_t*>self.link.data
        cdef const uint8_t* end = start + self.link.size
        if not self.link.size:
            return False
        strip(&start, &end)
        if end - start > 8:  # two characters
            return False
        if start < end and start[0] < 0x80 and not c"0" <= start[0] <= c"9":
            return False
        return is_day(PyUnicode_DecodeUTF8(<const char*>start, end - start, NULL))
