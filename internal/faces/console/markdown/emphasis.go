package markdown

// delim is a run of *, _ or ~ that may begin or end emphasis.
type delim struct {
	token             int
	mark              byte
	length, left      int // characters it had, and those that are not used up
	canOpen, canClose bool
	prev, next        int
}

// emphasise matches the delimiters from the n-th on, and forgets them.
func (p *inline) emphasise(n int) {
	all := p.delimiters[n:]
	p.delimiters = p.delimiters[:n]
	for i := range all {
		all[i].prev, all[i].next = i-1, i+1
	}
	// bottom is how far down there is no opener for a closer of a kind: without it, each
	// would look through all that are before it.
	bottom := map[closerKind]int{}
	for c := 0; c < len(all); {
		closer := &all[c]
		if !closer.canClose {
			c = closer.next
			continue
		}
		low, known := bottom[closer.kind()]
		if !known {
			low = -1
		}
		o := findOpener(all, c, low)
		if o < 0 {
			bottom[closer.kind()] = closer.prev
			next := closer.next
			if !closer.canOpen {
				unlink(all, c)
			}
			c = next
			continue
		}
		c = p.pair(all, o, c)
	}
}

// closerKind tells closers apart that different openers fit.
type closerKind struct {
	mark    byte
	canOpen bool
	length  int
}

func (d *delim) kind() closerKind {
	if d.mark == '~' {
		return closerKind{d.mark, d.canOpen, d.length}
	}
	return closerKind{d.mark, d.canOpen, d.length % 3}
}

func findOpener(all []delim, c, low int) int {
	closer := &all[c]
	for o := closer.prev; o > low; o = all[o].prev {
		if all[o].canOpen && all[o].mark == closer.mark && fits(&all[o], closer) {
			return o
		}
	}
	return -1
}

func fits(opener, closer *delim) bool {
	if closer.mark == '~' {
		return opener.length == closer.length
	}
	return !opener.canClose && !closer.canOpen || closer.length%3 == 0 || (opener.length+closer.length)%3 != 0
}

// pair makes emphasis of what is between two delimiters, and gives the delimiter to go
// on with.
func (p *inline) pair(all []delim, o, c int) int {
	opener, closer := &all[o], &all[c]
	use, element := 1, "em"
	switch {
	case closer.mark == '~':
		use, element = closer.length, "del"
	case opener.left >= 2 && closer.left >= 2:
		use, element = 2, "strong"
	}
	p.use(opener, use)
	p.use(closer, use)
	p.tokens[opener.token].opens = append(p.tokens[opener.token].opens, element)
	p.tokens[closer.token].closes = append(p.tokens[closer.token].closes, element)
	opener.next, closer.prev = c, o // those between match nothing any more
	if opener.left == 0 {
		unlink(all, o)
	}
	if closer.left == 0 {
		next := closer.next
		unlink(all, c)
		return next
	}
	return c
}

func (p *inline) use(d *delim, n int) {
	d.left -= n
	p.tokens[d.token].text = p.tokens[d.token].text[:d.left]
}

func unlink(all []delim, i int) {
	d := &all[i]
	if d.prev >= 0 {
		all[d.prev].next = d.next
	}
	if d.next < len(all) {
		all[d.next].prev = d.prev
	}
}
