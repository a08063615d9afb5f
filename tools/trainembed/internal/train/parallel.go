package train

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// each does n things, as many at a time as there are processors. Each must write to places
// of its own, so that it does not matter who comes first.
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

// spans does what is to be done from 0 to n in pieces of a size.
func spans(n, size int, do func(from, to int)) {
	each((n+size-1)/size, func(i int) { do(i*size, min(n, (i+1)*size)) })
}
