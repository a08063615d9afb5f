package approval

import "time"

// RuleJSON is the JSON form of a rule, at the command line and in the API.
type RuleJSON struct {
	ID        string    `json:"id"`
	Effect    string    `json:"effect"` // allow or deny
	State     RuleState `json:"state"`
	Rule      string    `json:"rule"` // in one sentence
	Principal string    `json:"principal"`
	Tool      string    `json:"tool"`
	Version   string    `json:"version"`
	Request   string    `json:"request"` // that it was made from
	Calls     int       `json:"calls,omitempty"`
	Used      int       `json:"used"`
	UsedAt    time.Time `json:"used_at,omitzero"`
	Reason    string    `json:"reason,omitempty"`
	MadeBy    string    `json:"made_by"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
	RevokedBy string    `json:"revoked_by,omitempty"`
}

// JSON returns the JSON form of the rule.
func (v RuleView) JSON() RuleJSON {
	r := v.Rule
	return RuleJSON{
		ID: r.ID, Effect: r.Effect(), State: v.Now, Rule: r.Sentence(), Principal: r.Principal, Tool: r.Tool, Version: r.Version, Request: r.Request,
		Calls: r.Calls, Used: r.Used, UsedAt: r.UsedAt, Reason: r.Reason, MadeBy: r.By,
		CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, RevokedAt: r.RevokedAt, RevokedBy: r.RevokedBy,
	}
}
