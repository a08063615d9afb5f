package stats

import (
	"os"
	"testing"
	"testing/fstest"
)

func TestReadProcess(t *testing.T) {
	const rest = " S 1 2 3 4 5 6 7 8 9 10 250 150 0 0 20 0 8 0 99 1000000 42 18446744073709551615"
	page := int64(os.Getpagesize())
	for _, tc := range []struct {
		name, stat string
		want       Process
	}{
		{"plain", "7 (remit)" + rest, Process{true, 2.5, 1.5, 42 * page, 1}},
		{"a name to mislead", "7 (a) S 1 (b c)" + rest, Process{true, 2.5, 1.5, 42 * page, 1}},
		{"cut short", "7 (remit) S 1 2", Process{OpenFiles: 1}},
		{"no numbers", "7 (remit) a b c d e f g h i j k l m n o p q r s t u v w", Process{OpenFiles: 1}},
		{"empty", "", Process{OpenFiles: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			folder := fstest.MapFS{"stat": {Data: []byte(tc.stat)}, "fd/0": {}, "fd/1": {}}
			if got := ReadProcess(folder); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
	if got, want := ReadProcess(fstest.MapFS{}), (Process{OpenFiles: -1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
