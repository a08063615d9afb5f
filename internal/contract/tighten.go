package contract

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Tightening holds what an operator may change about a tool. It can only restrict: a rule that
// would allow more than the contract is an error.
type Tightening struct {
	Hide        bool     `yaml:"hide"`        // do not serve the tool
	Title       string   `yaml:"title"`       // another title for people
	Description string   `yaml:"description"` // another description for models
	Rate        Rate     `yaml:"rate"`
	Deadline    Duration `yaml:"deadline"` // the maximum
	Request     Bytes    `yaml:"request"`  // maximum size of the arguments
	Approval    bool     `yaml:"approval"` // a person must approve
	Deny        []string `yaml:"deny"`     // further paths to deny
}

// approvalWindow is how long a request for approval stays open if only the operator requires
// approval.
const approvalWindow = Duration(time.Hour)

// SettingError reports a setting of the operator that the contracts do not allow.
type SettingError struct {
	Key string // path of the key in the configuration file: toolsets, tools.hello.rate
	Err error
}

func (e *SettingError) Error() string { return e.Key + ": " + e.Err.Error() }

func (e *SettingError) Unwrap() error { return e.Err }

// Tighten applies an operator's rules, by tool name, to the contracts of sets. A rule for the tool
// that a contract names in StrictAs holds for that contract too. Tighten returns new sets without
// the hidden tools and changes the contracts in place.
func Tighten(sets []*Set, rules map[string]Tightening) ([]*Set, error) {
	var problems []error
	tightened := make([]*Set, len(sets))
	for i, set := range sets {
		changed := *set
		changed.Contracts = slices.DeleteFunc(slices.Clone(set.Contracts), func(c *Contract) bool {
			return rules[c.Name].Hide || rules[c.StrictAs].Hide
		})
		for _, c := range changed.Contracts {
			if rule, ok := rules[c.StrictAs]; ok {
				rule.Title, rule.Description = "", ""
				problems = append(problems, c.tighten(rule))
			}
			if rule, ok := rules[c.Name]; ok {
				problems = append(problems, c.tighten(rule))
			}
		}
		tightened[i] = &changed
	}
	return tightened, errors.Join(problems...)
}

// CheckTools returns an error if a rule names a tool that no set has.
func CheckTools(known []*Set, rules map[string]Tightening) error {
	var names, visible []string
	for _, set := range known {
		for _, c := range set.Contracts {
			names = append(names, c.Name)
			if !set.Hidden {
				visible = append(visible, c.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		if !slices.Contains(names, name) {
			return &SettingError{"tools." + name, fmt.Errorf("there is no tool %q%s", name, suggest(name, visible))}
		}
	}
	return nil
}

func (c *Contract) tighten(t Tightening) error {
	refuse := func(part, format string, args ...any) error {
		return &SettingError{"tools." + c.Name + "." + part, fmt.Errorf(format, args...)}
	}
	const looser = "%s is looser than the contract's %s; it can only be tightened"
	switch {
	case !t.Rate.IsZero() && !c.Rate.IsZero() && t.Rate.IsLooser(c.Rate):
		return refuse("rate", looser, t.Rate, c.Rate)
	case t.Deadline > c.Deadline.longest():
		return refuse("deadline", looser, time.Duration(t.Deadline), time.Duration(c.Deadline.longest()))
	case t.Request > c.Size.Request:
		return refuse("request", looser, t.Request, c.Size.Request)
	case len(t.Deny) > 0 && len(c.Paths) == 0:
		return refuse("deny", "has no effect, because the tool takes no path")
	}
	for _, pattern := range t.Deny {
		if err := checkDeny(pattern); err != nil {
			return refuse("deny", "%w", err)
		}
	}
	c.apply(t)
	return c.seal()
}

func (c *Contract) apply(t Tightening) {
	c.Title = cmp.Or(t.Title, c.Title)
	c.Description = cmp.Or(t.Description, c.Description)
	c.Rate = cmp.Or(t.Rate, c.Rate)
	c.Size.Request = cmp.Or(t.Request, c.Size.Request)
	if t.Deadline > 0 {
		c.Deadline = c.Deadline.atMost(t.Deadline)
	}
	if t.Approval && !c.Approval.Required {
		c.Approval = Approval{Required: true, Window: approvalWindow}
	}
	for i := range c.Paths {
		policy := &c.Paths[i]
		policy.Deny = slices.Clip(policy.Deny)
		for _, pattern := range t.Deny {
			policy.Deny = append(policy.Deny, fold(pattern))
		}
	}
}

// IsLooser reports whether r allows more calls than another rate, at once or in the long run:
// 5000/h is less than 100/min per hour, but allows 5000 calls within one minute.
func (r Rate) IsLooser(than Rate) bool {
	return r.Requests > than.Requests || float64(r.Requests)/r.Per.Seconds() > float64(than.Requests)/than.Per.Seconds()
}
