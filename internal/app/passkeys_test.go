package app

import (
	"errors"
	"path/filepath"
	"testing"

	"remit/internal/contract/contracttest"
	"remit/internal/stores/keyfolder"
)

func TestPasskeyOrigin(t *testing.T) {
	for base, want := range map[string]string{
		"http://127.0.0.1:8722":               "http://localhost:8722",
		"http://[::1]:8722":                   "http://localhost:8722",
		"https://127.0.0.1:8722":              "https://localhost:8722",
		"http://127.0.0.1":                    "http://localhost",
		"http://localhost:8722":               "http://localhost:8722",
		"https://Remit.example.com:443":       "https://remit.example.com",
		"https://remit.example.com:8722/path": "https://remit.example.com:8722",
		"http://remit.example.com":            "", // browsers offer no passkeys without encryption
		"https://remit":                       "",
		"https://10.0.0.1":                    "",
		"http://0.0.0.0:8722":                 "",
		"http://[::]:8722":                    "",
		"":                                    "",
	} {
		if got := passkeyOrigin(base); got != want {
			t.Errorf("%s: %q, want %q", base, got, want)
		}
	}
}

func TestPasskeyLedger(t *testing.T) {
	keys := keyfolder.Find(filepath.Join(t.TempDir(), "keys"), func(string) (string, bool) { return "", false })
	ledger := passkeyLedger{keys.Workspace("/work")}
	if list, err := ledger.Load(); len(list) > 0 || err != nil {
		t.Errorf("%v, error %v, before anything was registered", list, err)
	}
	if err := ledger.Change(func(registered map[string]string) error { registered["a"] = "b"; return nil }); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	if err := ledger.Change(func(registered map[string]string) error { delete(registered, "a"); return refused }); !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
	list, err := ledger.Load()
	contracttest.Equal(t, list, map[string]string{"a": "b"})
	if other, otherErr := (passkeyLedger{keys.Workspace("/other")}).Load(); err != nil || otherErr != nil || len(other) > 0 {
		t.Errorf("another workspace has %v, errors %v, %v", other, err, otherErr)
	}
}
