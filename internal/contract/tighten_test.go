package contract_test

import (
	"strings"
	"testing"
	"time"

	"remit/internal/contract"
	"remit/internal/contract/catalog"
)

func booster(t *testing.T) []*contract.Set {
	t.Helper()
	known, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	sets, err := catalog.Select(known, []string{"booster"})
	if err != nil {
		t.Fatal(err)
	}
	return sets
}

func TestTighten(t *testing.T) {
	before := booster(t)[0].Find("read_repo_file").Digest
	sets, err := contract.Tighten(booster(t), map[string]contract.Tightening{
		"hello": {Hide: true},
		"read_repo_file": {
			Title: "Read", Description: "Reads.", Rate: contract.Rate{Requests: 1, Per: time.Minute},
			Deadline: contract.Duration(50 * time.Millisecond), Request: 1024, Approval: true, Deny: []string{"Drafts/**"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if sets[0].Find("hello") != nil || len(sets[0].Contracts) != 2 {
		t.Error("hello is not hidden, or more than hello is")
	}
	c := sets[0].Find("read_repo_file")
	if c.Title != "Read" || c.Description != "Reads." || c.Rate.String() != "1/min" || c.Size.Request != 1024 || !c.Approval.Required || c.Approval.Window == 0 {
		t.Errorf("not tightened: %+v", c)
	}
	if c.Deadline.Max != contract.Duration(50*time.Millisecond) || c.Deadline.Target > c.Deadline.Max {
		t.Errorf("deadline %+v", c.Deadline)
	}
	if !c.Paths[0].Denies("drafts/a.md") || !c.Paths[0].Denies(".env") {
		t.Error("the operator's paths are not denied, or the contract's no longer are")
	}
	if c.Digest == before {
		t.Error("a tightened contract has the digest of the untouched one: old approvals would count")
	}
}

func TestTightenNeverLoosens(t *testing.T) {
	for _, tc := range []struct {
		name string
		tool string
		rule contract.Tightening
		want string
	}{
		{"rate", "hello", contract.Tightening{Rate: contract.Rate{Requests: 2, Per: time.Second}}, "tools.hello.rate: 2/s is looser than the contract's 100/min"},
		{"rate, by the burst", "hello", contract.Tightening{Rate: contract.Rate{Requests: 5000, Per: time.Hour}}, "tools.hello.rate: 5000/h is looser than the contract's 100/min"},
		{"deadline", "hello", contract.Tightening{Deadline: contract.Duration(time.Minute)}, "tools.hello.deadline: 1m0s is looser"},
		{"request", "hello", contract.Tightening{Request: 1 << 30}, "tools.hello.request: 1GiB is looser"},
		{"deny without meaning", "read_repo_file", contract.Tightening{Deny: []string{"a["}}, "not a valid pattern"},
		{"deny of nothing", "read_repo_file", contract.Tightening{Deny: []string{""}}, `tools.read_repo_file.deny: "" is not a valid pattern`},
		{"deny in a spelling that means nothing", "read_repo_file", contract.Tightening{Deny: []string{"./drafts/"}}, `"./drafts/" would deny nothing; write "drafts"`},
		{"deny without path", "hello", contract.Tightening{Deny: []string{"a"}}, "takes no path"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := contract.Tighten(booster(t), map[string]contract.Tightening{tc.tool: tc.rule})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestCheckTools(t *testing.T) {
	err := contract.CheckTools(booster(t), map[string]contract.Tightening{"helo": {}})
	if err == nil || !strings.Contains(err.Error(), `did you mean "hello"?`) {
		t.Errorf("error %v", err)
	}
	hidden := []*contract.Set{{Name: "h", Hidden: true, Contracts: []*contract.Contract{{Name: "greet"}}}}
	if err := contract.CheckTools(hidden, map[string]contract.Tightening{"greet": {}}); err != nil {
		t.Errorf("a tool of a hidden set: %v", err)
	}
	if err := contract.CheckTools(hidden, map[string]contract.Tightening{"grete": {}}); err == nil || strings.Contains(err.Error(), "greet") {
		t.Errorf("the error mentions a hidden tool: %v", err)
	}
}
