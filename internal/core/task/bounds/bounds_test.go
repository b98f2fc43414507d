package bounds

import (
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestScopesThatCannotBeEnforcedAreRefused(t *testing.T) {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	before := now.Add(-time.Second)
	for param, s := range map[string]Scope{
		"scope.hosts":         {Hosts: []string{"a b"}},
		"scope.exclude":       {Exclude: []string{" "}},
		"scope.ports":         {Ports: []int{0}},
		"scope.paths":         {Paths: []string{"admin"}},
		"scope.methods":       {Methods: []string{"get"}},
		"scope.intrusiveness": {Intrusiveness: "rude"},
		"scope.expires_at":    {ExpiresAt: &before},
	} {
		if err := s.Check(now); errs.From(err) == nil || errs.From(err).Param != param {
			t.Errorf("%s: %v", param, err)
		}
	}
	good := Scope{Hosts: []string{"*.example.com", "10.0.0.0/8"}, Exclude: []string{"a.example.com"}, Ports: []int{443},
		Paths: []string{"/" + strings.Repeat("x", 10)}, Methods: []string{"GET"}, Intrusiveness: Safe}
	if err := good.Check(now); err != nil {
		t.Error(err)
	}
}
