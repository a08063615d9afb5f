package cli

import (
	"slices"
	"time"
)

// ShownTrust is an entry of the configuration file that must be trusted, for people.
type ShownTrust struct {
	Key, Value string // without passwords
	InForce    bool   // since the start of this process
	By         string // who trusted it; "" for nobody
	At         time.Time
}

// TrustShown returns what the configuration file asks for beyond the defaults, and what is trusted
// of it. Decisions that cannot be read trust nothing.
func (s *Settings) TrustShown(store TrustStore) []ShownTrust {
	known := s.decisions(store)
	var list []ShownTrust
	for _, e := range s.asked {
		shown := ShownTrust{Key: e.Key, Value: e.clipped(), InForce: !slices.Contains(s.Untrusted, e)}
		i := slices.IndexFunc(known.Trusted, func(t TrustedEntry) bool { return t.Entry == e })
		switch {
		case i >= 0:
			shown.By, shown.At = known.Trusted[i].By, known.Trusted[i].At
		case shown.InForce:
			shown.By = "REMIT_TRUST"
		}
		list = append(list, shown)
	}
	return list
}

// decisions returns what people have decided about the workspace, or about the main checkout of its
// worktree.
func (s *Settings) decisions(store TrustStore) (known Trust) {
	if store == nil {
		return known
	}
	root := realPath(s.Root)
	known, s.trustProblem = store.Load(root)
	if main := mainCheckout(root); main != "" {
		// The decisions about the checkout are reported there.
		inherited, _ := store.Load(main)
		known.Trusted = append(known.Trusted, inherited.Trusted...)
	}
	return known
}
