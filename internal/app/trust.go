package app

import (
	"encoding/json"
	"fmt"

	"remit/internal/frontends/cli"
	"remit/internal/stores/keyfolder"
)

// trustFile is the document of the key folder with what people have trusted in a workspace.
const trustFile = "trust.json"

// trustStore stores what people have trusted in the key folder. It implements cli.TrustStore.
type trustStore struct{ keys *keyfolder.Folder }

// newTrustStore returns the store in the key folder that the settings name.
func newTrustStore(keys string, env func(string) (string, bool)) cli.TrustStore {
	return trustStore{keyfolder.Find(keys, env)}
}

// Folder implements cli.TrustStore.
func (t trustStore) Folder() string { return t.keys.Path() }

// Load implements cli.TrustStore.
func (t trustStore) Load(root string) (trust cli.Trust, err error) {
	content, err := t.keys.Workspace(root).Read(trustFile)
	if err != nil || content == nil {
		return trust, err
	}
	if err := json.Unmarshal(content, &trust); err != nil {
		return cli.Trust{}, fmt.Errorf("decode %s: %w", trustFile, err)
	}
	return trust, nil
}

// Change implements cli.TrustStore.
func (t trustStore) Change(root string, change func(*cli.Trust)) error {
	document := t.keys.Workspace(root)
	unlock, err := document.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	trust, err := t.Load(root)
	if err != nil {
		trust = cli.Trust{} // a person decides again, after the problem was shown
	}
	change(&trust)
	content, err := json.Marshal(trust)
	if err != nil {
		return fmt.Errorf("encode %s: %w", trustFile, err)
	}
	return document.Write(trustFile, content)
}

// Revoke implements cli.TrustStore.
func (t trustStore) Revoke(root string) error { return t.keys.Workspace(root).Remove(trustFile) }
