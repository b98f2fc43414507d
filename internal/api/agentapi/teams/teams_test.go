package teams

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/membership"
)

func TestMembersInTheContract(t *testing.T) {
	cents := int64(250)
	doc := memberDoc(membership.Member{Role: account.Viewer, Status: membership.Pending, Restricted: true, CapCents: &cents,
		SpentMicros: 3_000_000})
	if doc.Access != accessRestricted || doc.Cap.Limit != 2.5 || doc.Cap.Used != 3 || doc.Cap.Remaining != 0 || doc.InvitedBy != nil ||
		doc.AcceptedAt != nil {
		t.Errorf("%+v", doc)
	}
	if doc := memberDoc(membership.Member{InvitedBy: "ada@example.com"}); doc.Access != accessAll || doc.Cap != nil ||
		*doc.InvitedBy != "ada@example.com" {
		t.Errorf("%+v", doc)
	}
}
