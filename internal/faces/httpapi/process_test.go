package httpapi

import (
	"os"
	"testing"
	"testing/fstest"
)

func TestReadProcess(t *testing.T) {
	const rest = " S 1 2 3 4 5 6 7 8 9 10 250 150 0 0 20 0 8 0 99 1000000 42 18446744073709551615"
	page := float64(os.Getpagesize())
	for _, tc := range []struct {
		name, stat string
		want       process
	}{
		{"plain", "7 (remit)" + rest, process{true, 4, 42 * page, 1}},
		{"a name to mislead", "7 (a) S 1 (b c)" + rest, process{true, 4, 42 * page, 1}},
		{"cut short", "7 (remit) S 1 2", process{openFiles: 1}},
		{"no numbers", "7 (remit) a b c d e f g h i j k l m n o p q r s t u v w", process{openFiles: 1}},
		{"empty", "", process{openFiles: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			folder := fstest.MapFS{"stat": {Data: []byte(tc.stat)}, "fd/0": {}, "fd/1": {}}
			if got := readProcess(folder); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
	if got, want := readProcess(fstest.MapFS{}), (process{openFiles: -1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
