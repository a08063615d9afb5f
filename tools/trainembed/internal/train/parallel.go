package train

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// each runs n tasks, as many concurrently as there are processors. Each task must write to its own
// memory, so that their order does not matter.
func each(n int, do func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	all.Wait()
}

// spans calls do for the range from 0 to n in parts of the given size.
func spans(n, size int, do func(from, to int)) {
	each((n+size-1)/size, func(i int) { do(i*size, min(n, (i+1)*size)) })
}
