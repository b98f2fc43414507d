package projects

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/project"
)

func TestCapsInDollars(t *testing.T) {
	cents := int64(250)
	doc := projectDoc(project.Project{CapCents: &cents, Spent: 1_250_000, OwnerID: "a", TeamID: "t", Shared: true},
		account.Caller{UserID: "a"})
	if *doc.CapUSD != 2.5 || doc.UsedUSD != 1.25 || *doc.UsedPercent != 50 || !doc.IsOwner || *doc.SharedTeamID != "t" {
		t.Errorf("%+v", doc)
	}
	cents = 0
	if doc := projectDoc(project.Project{CapCents: &cents}, account.Caller{UserID: "a"}); *doc.UsedPercent != 100 || doc.IsOwner ||
		doc.SharedTeamID != nil {
		t.Errorf("%+v", doc)
	}
	if doc := projectDoc(project.Project{}, account.Caller{}); doc.CapUSD != nil || doc.UsedPercent != nil || doc.Tags == nil {
		t.Errorf("%+v", doc)
	}
}
