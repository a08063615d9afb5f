package train

import "math/bits"

// random is a random number generator that depends only on its seed (SplitMix64).
type random uint64

// seeded mixes numbers into a seed.
func seeded(numbers ...uint64) random {
	r := random(0)
	for _, n := range numbers {
		r = random(uint64(r) ^ n)
		r = random(r.next())
	}
	return r
}

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number from 0 to n-1.
func (r *random) below(n int) int {
	high, _ := bits.Mul64(r.next(), uint64(n))
	return int(high)
}

// normal returns a number near 0, as the sum of twelve uniform ones. It uses no logarithm, whose
// bits depend on the library.
func (r *random) normal() float64 {
	sum := -6.0
	for range 12 {
		sum += float64(r.next()>>11) / (1 << 53)
	}
	return sum
}

func shuffle[T any](r *random, list []T) {
	for i := len(list) - 1; i > 0; i-- {
		j := r.below(i + 1)
		list[i], list[j] = list[j], list[i]
	}
}
