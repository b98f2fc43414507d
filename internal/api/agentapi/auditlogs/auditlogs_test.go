package auditlogs

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/audit"
)

// TestListsHaveNoHashOfTheEntryBefore: it is read for one entry only, and an empty one would say that it is the first.
func TestListsHaveNoHashOfTheEntryBefore(t *testing.T) {
	text, err := json.Marshal(entry(audit.Entry{ID: "a", Seq: 7, Object: "o", Hash: "h"}))
	if err != nil || strings.Contains(string(text), "prev_hash") || !strings.Contains(string(text), `"sequence":7`) ||
		!strings.Contains(string(text), `"object_id":"o"`) {
		t.Errorf("%s, %v", text, err)
	}
}
