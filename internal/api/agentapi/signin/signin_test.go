package signin

import (
	"encoding/json"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// TestAProofIsNamed: a body with neither a code nor the answer of a key says which field it lacks.
func TestAProofIsNamed(t *testing.T) {
	for body, want := range map[string]string{
		`{"ticket": "x"}`: "code", `{"ticket": "x", "code": ""}`: "",
		`{"ticket": "x", "code": "123456"}`: "", `{"ticket": "x", "credential": {"id": "AA"}}`: "",
	} {
		var step SecondStep
		if err := json.Unmarshal([]byte(body), &step); err != nil || step.Ticket != "x" {
			t.Fatalf("%s: %+v, %v", body, step, err)
		}
		p, err := step.proof()
		if got := errs.From(err); got == nil && (want != "" || step.Code != nil && p.Code != *step.Code || string(p.Key) != string(step.Credential)) ||
			got != nil && got.Param != want {
			t.Errorf("%s: %+v, %v", body, p, err)
		}
	}
}
