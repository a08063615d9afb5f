package telemetry

import (
	"os"
	"testing"
	"testing/fstest"
)

func TestReadProcess(t *testing.T) {
	stat := "42 (a name) with ) in it) S 1 1 1 0 -1 4194560 1 2 3 4 150 50 0 0 20 0 9 0 100 1000 25 18446744073709551615"
	folder := fstest.MapFS{"stat": {Data: []byte(stat)}, "fd/0": {}, "fd/1": {}, "fd/2": {}}
	got := readProcess(folder)
	want := process{known: true, user: 1.5, system: .5, resident: 25 * int64(os.Getpagesize()), openFiles: 2}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for name, text := range map[string]string{"nothing": "", "too few": "1 (x) S 1", "no numbers": "1 (x) S 1 1 1 0 -1 4194560 1 2 3 4 a b 0 0 20 0 9 0 100 1000 c 0"} {
		if got := readProcess(fstest.MapFS{"stat": {Data: []byte(text)}}); got != (process{openFiles: -1}) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}
