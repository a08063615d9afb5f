package sqlstore

import (
	"database/sql/driver"
	"testing"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/jobs"
)

// TestTaskJSON checks the JSON of tasks. Databases hold it, so it must not change.
func TestTaskJSON(t *testing.T) {
	task := &jobs.Task{
		Questions:    []engine.Question{{Key: "k", Needs: engine.Forms, Params: jsontree.Obj(), Guarded: true}, {Key: "l", Needs: engine.Forms}},
		Fault:        &engine.ProtocolError{Code: -1, Message: "m"},
		Continuation: engine.Continuation{Attempt: 2, Approved: true, Asked: time.UnixMicro(1).UTC(), Key: "c"},
		Asked:        []string{"k"},
	}
	want := []string{
		`[{"key":"k","needs":"` + string(engine.Forms) + `","params":{},"guarded":true},` +
			`{"key":"l","needs":"` + string(engine.Forms) + `","params":null}]`,
		`{"code":-1,"message":"m"}`,
		`{"round":2,"approved":true,"ended":"1970-01-01T00:00:00.000001Z","key":"c","asked":["k"]}`,
	}
	for i, got := range jsonOf(t, task) {
		if string(got) != want[i] {
			t.Errorf("got  %s\nwant %s", got, want[i])
		}
	}
	none := jsonOf(t, &jobs.Task{Questions: []engine.Question{}})
	if none[0] != nil || none[1] != nil || string(none[2]) != `{"round":0}` {
		t.Errorf("a task without questions and fault has %q", none)
	}
}

func jsonOf(t *testing.T, task *jobs.Task) (list [][]byte) {
	t.Helper()
	for _, value := range (backgroundTasks{&DB{}}).stateColumns(task) {
		if column, ok := value.(jsonColumn); ok {
			text, err := driver.Valuer(column).Value()
			if err != nil {
				t.Fatal(err)
			}
			bytes, _ := text.([]byte)
			list = append(list, bytes)
		}
	}
	return list
}
