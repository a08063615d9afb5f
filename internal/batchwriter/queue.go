package batchwriter

import (
	"container/list"
	"time"
)

// queue holds items in the order in which they were added or last merged.
type queue[T any] struct {
	key   func(item T) string
	merge func(waiting, added T) T
	sizes func(item T) int // nil if each item counts as one

	order *list.List // of *T
	byKey map[string]*list.Element
	size  int
}

func newQueue[T any](key func(T) string, merge func(waiting, added T) T, sizes func(T) int) queue[T] {
	return queue[T]{key: key, merge: merge, sizes: sizes, order: list.New(), byKey: map[string]*list.Element{}}
}

func (q *queue[T]) len() int { return q.order.Len() }

// find returns the element with the key of an item; nil if there is none.
func (q *queue[T]) find(item T) *list.Element {
	if q.key == nil {
		return nil
	}
	return q.byKey[q.key(item)]
}

// sizeWith returns the size of the queue after one more item.
func (q *queue[T]) sizeWith(item T) int {
	switch {
	case q.sizes != nil:
		return q.size + q.sizes(item)
	case q.find(item) != nil:
		return q.size
	}
	return q.size + 1
}

// add appends an item, or merges it with the waiting item that has the same key.
func (q *queue[T]) add(item T) {
	e := q.find(item)
	q.size = q.sizeWith(item)
	switch {
	case e != nil:
		waiting := e.Value.(*T)
		*waiting = q.merge(*waiting, item)
		q.order.MoveToBack(e)
	case q.key != nil:
		waiting := new(T)
		*waiting = q.merge(*waiting, item)
		q.byKey[q.key(item)] = q.order.PushBack(waiting)
	default:
		q.order.PushBack(&item)
	}
}

func (q *queue[T]) remove(e *list.Element) T {
	item := *q.order.Remove(e).(*T)
	if q.key != nil {
		delete(q.byKey, q.key(item))
	}
	if q.sizes != nil {
		q.size -= q.sizes(item)
	} else {
		q.size--
	}
	return item
}

// take removes all items.
func (q *queue[T]) take() []T {
	items := make([]T, 0, q.order.Len())
	for e := q.order.Front(); e != nil; e = e.Next() {
		items = append(items, *e.Value.(*T))
	}
	q.order.Init()
	clear(q.byKey)
	q.size = 0
	return items
}

// soonest returns the item that is due first, and its time.
func (q *queue[T]) soonest(due func(T) time.Time) (first *list.Element, at time.Time) {
	for e := q.order.Front(); e != nil; e = e.Next() {
		if t := due(*e.Value.(*T)); first == nil || t.Before(at) {
			first, at = e, t
		}
	}
	return first, at
}
