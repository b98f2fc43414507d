package agentapi

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestErrorShape(t *testing.T) {
	e := errs.New(errs.Forbidden, "turnstile_required", "Solve it.")
	for want, e := range map[string]*errs.Error{
		`{"error":"Solve it.","code":"turnstile_required","error_id":"the-id","kind":"forbidden","message":"Solve it."}`:                             e,
		`{"error":"Solve it.","code":"turnstile_required","error_id":"the-id","kind":"forbidden","message":"Solve it.","turnstile_site_key":"site"}`: e.With("turnstile_site_key", "site").With("other", "kept in"),
	} {
		if got, err := json.Marshal(shape(403, e, "the-id")); err != nil || string(got) != want {
			t.Errorf("%s, want %s (%v)", got, want, err)
		}
	}
}

// TestTaskIDHasOneSpelling: what a caller chooses can be asked for as it is answered.
func TestTaskIDHasOneSpelling(t *testing.T) {
	const id = "0badc0de-0000-4000-8000-000000000001"
	if n, err := (TaskRequest{Task: "x", ID: strings.ToUpper(id)}).newTask(); err != nil || n.ID != id {
		t.Errorf("%+v, %v", n, err)
	}
	for _, bad := range []string{"{" + id + "}", "urn:uuid:" + id, strings.ReplaceAll(id, "-", ""), "x"} {
		if n, err := (TaskRequest{Task: "x", ID: bad}).newTask(); errs.From(err) == nil || errs.From(err).Param != "id" {
			t.Errorf("the id %s is taken: %+v, %v", bad, n, err)
		}
	}
}

// TestEveryWordHasItsField: the vocabulary describes nothing that is not there.
func TestEveryWordHasItsField(t *testing.T) {
	text, err := New(rest.Config{}, nil, Deps{}).ContractJSON()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Description string }
			}
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for name, schema := range doc.Components.Schemas {
		for field, property := range schema.Properties {
			for _, key := range []string{name + "." + field, field} {
				if words := fieldWords()[key]; words != "" && words == property.Description {
					used[key] = true
				}
			}
		}
	}
	for key := range fieldWords() {
		if !used[key] {
			t.Errorf("%q describes nothing", key)
		}
	}
	for of, name := range vocabulary().Names {
		if _, ok := doc.Components.Schemas[name]; !ok {
			t.Errorf("%s is not in the contract as %s", of, name)
		}
	}
	if strings.Contains(string(text), "problem+json") {
		t.Error("the contract shows another library's errors")
	}
}
