package decision

import (
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding/move"
)

func TestCheck(t *testing.T) {
	now := time.Unix(1_000_000_000, 0)
	soon := now.Add(time.Hour)
	for name, c := range map[string]struct {
		d     Decision
		field string // refused; empty: taken
	}{
		"a bare status":            {Decision{Status: move.AcceptedRisk}, ""},
		"a reason":                 {Decision{Status: move.FalsePositive, Reason: " x "}, ""},
		"an end":                   {Decision{Status: move.AcceptedRisk, Reason: "x", Until: soon}, ""},
		"an end without a reason":  {Decision{Status: move.AcceptedRisk, Reason: " ", Until: soon}, "reason"},
		"an end of something else": {Decision{Status: move.Fixed, Reason: "x", Until: soon}, "until"},
		"an end in the past":       {Decision{Status: move.AcceptedRisk, Reason: "x", Until: now}, "until"},
		"an end far away":          {Decision{Status: move.AcceptedRisk, Reason: "x", Until: now.AddDate(11, 0, 0)}, "until"},
		"a long reason":            {Decision{Status: move.Fixed, Reason: strings.Repeat("x", 2001)}, "reason"},
		"no status":                {Decision{Status: "done"}, "vuln_status"},
	} {
		err := c.d.Check(now)
		if (err == nil) != (c.field == "") || err != nil && !strings.HasPrefix(err.Error(), c.field) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The same status without a reason says nothing new, so it leaves the reason as it is.
func TestIsNew(t *testing.T) {
	end := time.Unix(1_000_000_000, 0)
	before := Decision{Status: move.AcceptedRisk, Reason: "x", Until: end}
	for _, c := range []struct {
		d    Decision
		want bool
	}{
		{Decision{Status: move.AcceptedRisk}, false}, {before, false}, {Decision{Status: move.Open}, true},
		{Decision{Status: move.AcceptedRisk, Reason: "y", Until: end}, true},
		{Decision{Status: move.AcceptedRisk, Reason: "x"}, true},
		{Decision{Status: move.AcceptedRisk, Restores: true}, true},
		{Decision{Status: move.AcceptedRisk, Reason: "x", Until: end, Restores: true}, false},
	} {
		if c.d.IsNew(before) != c.want {
			t.Errorf("%+v: %v", c.d, !c.want)
		}
	}
}
