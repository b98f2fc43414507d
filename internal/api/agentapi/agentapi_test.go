package agentapi

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/errs"
	"github.com/vedette-sec/vedette/internal/task"
	"pgregory.net/rapid"
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

func TestAnswerIsTheStreamUnlessJSONIsWanted(t *testing.T) {
	for _, c := range []struct {
		format, accept string
		want           bool
	}{
		{"", "", false}, {"", "*/*", false}, {"", "text/event-stream", false}, {"", "application/json", true},
		{"", "application/json, text/event-stream", false}, {"", "text/html, application/json;q=0.9", true},
		{"json", "text/event-stream", true}, {"sse", "application/json", false}, {"json", "", true},
	} {
		if got := (TaskRequest{ResponseFormat: c.format}).wantsJSON(c.accept); got != c.want {
			t.Errorf("response_format %q, Accept %q: %v", c.format, c.accept, got)
		}
	}
}

func TestInstructionIsTaskOrMessage(t *testing.T) {
	text := func(parts ...TaskPart) *TaskMessage { return &TaskMessage{Parts: parts} }
	for name, c := range map[string]struct {
		request TaskRequest
		want    string
		param   string // at fault, or ""
	}{
		"task":    {TaskRequest{Task: "x"}, "x", ""},
		"message": {TaskRequest{Message: text(TaskPart{Type: "text", Text: "a"}, TaskPart{Type: "file", Text: "no"}, TaskPart{Type: "text", Text: "b"})}, "a\nb", ""},
		"both":    {TaskRequest{Task: "x", Message: text()}, "", "message"},
		"neither": {TaskRequest{}, "", ""}, // the slice refuses it
	} {
		n, err := c.request.newTask()
		if e := errs.From(err); c.param == "" && (e != nil || n.Instruction != c.want) || c.param != "" && (e == nil || e.Param != c.param) {
			t.Errorf("%s: %+v, %v", name, n, err)
		}
	}
	webhook := "webhook"
	const id = "0BADC0DE-0000-4000-8000-000000000001"
	if n, err := (TaskRequest{Task: "x", ID: id, CompletionDelivery: &webhook}).newTask(); err != nil || n.ID != strings.ToLower(id) || n.Delivery != task.Webhook {
		t.Errorf("%+v, %v", n, err)
	}
	for _, bad := range []string{"{" + id + "}", "urn:uuid:" + id, strings.ReplaceAll(id, "-", ""), "x"} {
		if n, err := (TaskRequest{Task: "x", ID: bad}).newTask(); errs.From(err) == nil || errs.From(err).Param != "id" {
			t.Errorf("the id %s is taken: %+v, %v", bad, n, err)
		}
	}
}

// TestPagesHoldEachItemOnce follows the cursor through a list.
func TestPagesHoldEachItemOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfDistinct(rapid.StringMatching(`[a-z]{3}`), rapid.ID).Draw(t, "all")
		limit := rapid.IntRange(1, 10).Draw(t, "limit")
		slices.Sort(all)
		var seen []string
		for after := ""; ; {
			rest := all[len(seen):]
			if after != "" && after != seen[len(seen)-1] {
				t.Fatalf("the cursor %q is not the last item of the page", after)
			}
			page, more, next := pageOf(rest[:min(len(rest), limit+1)], limit, func(s string) string { return s })
			seen = append(seen, page...)
			if more != (len(seen) < len(all)) || more != (next != "") || len(page) > limit {
				t.Fatalf("after %d of %d: more %v, next %q, %d items", len(seen), len(all), more, next, len(page))
			}
			if !more {
				break
			}
			after = next
		}
		if !slices.Equal(seen, all) {
			t.Fatalf("the pages hold %q of %q", seen, all)
		}
	})
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
