package job

import "testing"

// Jobs of earlier releases wait in queues: their kinds never change.
func TestKinds(t *testing.T) {
	for kind, want := range map[string]string{
		News{}.Kind(): "finding.news", Retest{}.Kind(): "finding.retest", File{}.Kind(): "finding.file", Ticket{}.Kind(): "ticket.sync",
	} {
		if kind != want {
			t.Errorf("%s, want %s", kind, want)
		}
	}
}
