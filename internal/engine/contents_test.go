package engine_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit/internal/contract"
	"remit/internal/engine"
)

func TestContentsOf(t *testing.T) {
	for text, want := range map[string]engine.Contents{
		"":     {URI: "a://b", MIME: "text/plain"},
		"ü":    {URI: "a://b", MIME: "text/plain", Text: "ü"},
		"\xff": {URI: "a://b", MIME: "text/plain", Blob: []byte{0xff}},
	} {
		if diff := cmp.Diff(want, engine.ContentsOf("a://b", "text/plain", []byte(text))); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestNoResource(t *testing.T) {
	cause := errors.New("it is gone")
	err := engine.ResourceNotFound("a://b", cause)
	info := contract.AsError(err)
	if info.Kind != contract.NotFound || info.Message != "There is no resource a://b" || info.Details["uri"] != "a://b" ||
		!errors.Is(err, cause) {
		t.Errorf("%+v", info)
	}
}
