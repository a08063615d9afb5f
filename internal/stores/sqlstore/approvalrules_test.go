package sqlstore_test

import (
	"testing"

	"remit/internal/engine/approval/approvaltest"
)

func TestApprovalRules(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, url func(t *testing.T) string) {
		approvaltest.RuleSuite(t, func(t *testing.T) approvaltest.RuleStores {
			db := open(t, url(t))
			return approvaltest.RuleStores{Requests: db.Approvals(), Rules: db.ApprovalRules()}
		})
	})
}
