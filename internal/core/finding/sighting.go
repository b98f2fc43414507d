package finding

import (
	"github.com/vedette-sec/vedette/internal/core/finding/chain"
	"github.com/vedette-sec/vedette/internal/core/finding/identity"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/evidence"
)

// Fingerprint is the vuln_hash of an event; scheme counts where its URL has none.
func Fingerprint(e engine.Event, scheme string) string { return identity.Of(e, scheme).Hash() }

// IDOf is the id of the finding of an event in a scan or task.
func IDOf(scanID string, e engine.Event) string { return identity.ID(scanID, Fingerprint(e, "")) }

// Sighting is an event that is to be stored as a finding.
type Sighting struct {
	Event           engine.Event
	Target          string // as the scan was given it; empty: the event's host
	Scheme          string // for an event whose URL has none
	TemplateURL     string
	TemplateEncoded string // base64
	// Parts identify what another tool saw; nil: they are those of the event.
	Parts *identity.Parts
	// Status is what another tool says; it counts where the weakness is new. Empty: open.
	Status Status
	Proof  *chain.Proof // nil: it cannot be shown again
}

// Origin is the scan, or the task, that saw something.
type Origin struct {
	TeamID string
	ScanID string // or the task's id
	Run    int64
	IsTask bool
	Source chain.Source // empty: a scan
}

// leavesOf are the hashes of the evidence of rows.
func leavesOf(rows []row) []evidence.Leaf {
	leaves := make([]evidence.Leaf, len(rows))
	for i, r := range rows {
		leaves[i] = evidence.Leaf{No: r.no, Hash: r.leaf}
	}
	return leaves
}

// Seen is what the evidence of the finding is made of.
func (f Finding) Seen() chain.Seen {
	return chain.Seen{FindingID: f.ID, Hash: f.Hash, Event: f.Event, Target: f.Target, Proof: f.Proof}
}

// IsReplayable reports whether there is a proof that can be sent again: the template that showed it is known.
func (f Finding) IsReplayable() bool {
	return f.Proof != nil && (f.Proof.Digest != "" || f.Proof.Template != "")
}
