package console

import "sync"

// Limits of what is remembered; the oldest is forgotten first. Whoever approves a forgotten request
// together with others has to open it again.
const (
	maxOpened  = 2000 // requests of one person
	maxReaders = 200  // people
)

// opened remembers which requests were shown to which person, and in which state, so that several
// can be approved at once. It is on the server, so that the phone and the laptop of a person agree,
// and so that no page can claim that something was shown.
type opened struct {
	mu     sync.Mutex
	people map[string]*openedBy
	order  []string // the people, oldest first
}

// openedBy are the requests that were shown to one person.
type openedBy struct {
	marks map[string]string // approval.Request.PageMark of what was shown, by the id of the request
	order []string          // the ids, oldest first
}

// add records that a person was shown a request.
func (o *opened) add(person, id, mark string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	by := o.people[person]
	if by == nil {
		if o.people == nil {
			o.people = map[string]*openedBy{}
		}
		if len(o.order) == maxReaders {
			delete(o.people, o.order[0])
			o.order = o.order[1:]
		}
		by = &openedBy{marks: map[string]string{}}
		o.people[person], o.order = by, append(o.order, person)
	}
	if _, known := by.marks[id]; !known {
		if len(by.order) == maxOpened {
			delete(by.marks, by.order[0])
			by.order = by.order[1:]
		}
		by.order = append(by.order, id)
	}
	by.marks[id] = mark
}

// mark returns the mark of what a person was shown of a request last; "" if it was not shown.
func (o *opened) mark(person, id string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if by := o.people[person]; by != nil {
		return by.marks[id]
	}
	return ""
}
