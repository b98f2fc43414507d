// Package bounds has what a person allows a task to reach, and how far its tools may go there.
package bounds

import (
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// Intrusiveness is how far the tools of a task may go without asking.
type Intrusiveness string

// The degrees. Passive tools send nothing to a target. Safe ones read from targets; changes there need a person's
// approval, unless the task is intrusive. In an active task the tester of web applications writes test data, and all
// else is as in a safe one.
const (
	Passive   Intrusiveness = "passive"
	Safe      Intrusiveness = "safe"
	Active    Intrusiveness = "active"
	Intrusive Intrusiveness = "intrusive"
)

// Scope restricts what a task may reach, besides its instruction. The dialer of every tool enforces it.
type Scope struct {
	Hosts         []string      `json:"hosts,omitempty" maxItems:"1000" doc:"Names, *.names, addresses and ranges, perhaps with ports. Only these may be reached; if empty, those that the instruction names."`
	Exclude       []string      `json:"exclude,omitempty" maxItems:"1000" doc:"Names, addresses, ranges and URLs that may not be reached."`
	Ports         []int         `json:"ports,omitempty" maxItems:"1000" doc:"Only these ports may be reached; if empty, all."`
	Paths         []string      `json:"paths,omitempty" maxItems:"1000" doc:"Only paths under these may be requested; if empty, all."`
	Methods       []string      `json:"methods,omitempty" maxItems:"20" doc:"Only these HTTP methods may be used; if empty, all."`
	Intrusiveness Intrusiveness `json:"intrusiveness,omitempty" enum:"passive,safe,active,intrusive" doc:"passive: nothing is sent to targets. safe, the default: requests that change something need an approval. active: the tests of web applications write test data without one. intrusive: nothing needs one."`
	ExpiresAt     *time.Time    `json:"expires_at,omitempty" doc:"Nothing is sent to targets after this."`
}

const (
	maxScopeText   = 2048 // bytes of one of its texts
	maxScopeMethod = 32
)

// Check refuses a scope that cannot be enforced, and names the wrong field.
func (s Scope) Check(now time.Time) error {
	for _, text := range s.Hosts {
		if _, err := netguard.ParseTarget(text); err != nil {
			return errs.Field("scope.hosts", "scope.hosts: %s", errs.From(err).Message)
		}
	}
	for _, text := range s.Exclude {
		if strings.TrimSpace(text) == "" || len(text) > maxScopeText {
			return errs.Field("scope.exclude", "scope.exclude must hold names, addresses, ranges or URLs.")
		}
	}
	for _, port := range s.Ports {
		if port < 1 || port > 65535 {
			return errs.Field("scope.ports", "scope.ports must be between 1 and 65535.")
		}
	}
	for _, path := range s.Paths {
		if !strings.HasPrefix(path, "/") || len(path) > maxScopeText {
			return errs.Field("scope.paths", "scope.paths must begin with a slash.")
		}
	}
	for _, method := range s.Methods {
		if method == "" || len(method) > maxScopeMethod ||
			strings.ContainsFunc(method, func(r rune) bool { return r < 'A' || r > 'Z' }) {
			return errs.Field("scope.methods", "scope.methods must be methods in capitals, such as GET.")
		}
	}
	if !slices.Contains([]Intrusiveness{"", Passive, Safe, Active, Intrusive}, s.Intrusiveness) {
		return errs.Field("scope.intrusiveness", "scope.intrusiveness must be passive, safe, active or intrusive.")
	}
	if s.ExpiresAt != nil && !s.ExpiresAt.After(now) {
		return errs.Field("scope.expires_at", "scope.expires_at lies in the past.")
	}
	return nil
}
