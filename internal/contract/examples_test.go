package contract_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"remit/internal/contract"
)

// TestExamples checks that examples survive conversion to JSON and back, with the spelling of
// numbers and the order of keys.
func TestExamples(t *testing.T) {
	made := []contract.Example{{Title: "One <b>", Arguments: tree(t, `{"b":1,"a":1.50}`)}}
	data, err := json.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	var kept []contract.Example
	if err := json.Unmarshal(data, &kept); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(kept, made) {
		t.Errorf("%v became %v", made, kept)
	}
}
