package paper

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/billing"
)

// A statement says what was granted and used, is bounded, and is a PDF.
func TestWrite(t *testing.T) {
	at := time.Date(2026, 2, 3, 4, 5, 0, 0, time.UTC)
	st := billing.Statement{Team: "blue", From: at, To: at, WrittenAt: at, Total: 7_000_000, Parts: map[billing.By][]billing.Part{},
		Grants: []billing.Grant{{Micros: 9_000_000, Note: "order 17", CreatedAt: at}}}
	for i := range maxRows + 3 {
		st.Parts[billing.ByTask] = append(st.Parts[billing.ByTask], billing.Part{ID: "id", Name: fmt.Sprintf("task %d", i), Calls: 1, Micros: 1})
	}
	said := fmt.Sprint(document(st))
	for _, want := range []string{"blue", "order 17", "2026-02-03 04:05 UTC", "never", "task 199", "And 3 more", "None in this time."} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if strings.Contains(said, "task 200") {
		t.Error("it has more than its rows")
	}
	var out bytes.Buffer
	if err := Write(t.Context(), &out, st); err != nil || !bytes.HasPrefix(out.Bytes(), []byte("%PDF-")) {
		t.Errorf("%v %.20q", err, out.Bytes())
	}
}
