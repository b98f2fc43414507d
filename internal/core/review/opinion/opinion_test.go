package opinion

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/review/diff"
	"github.com/vedette-sec/vedette/internal/core/review/rule"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var files = []File{
	{Path: "shop.go", Lines: []diff.Line{{Number: 3, Text: "import x"}, {Number: 4, Text: "db.Query(q + id)", Added: true}},
		Instructions: []string{"For files that match *.go: heed SQL"}},
	{Path: "env.sh", Lines: []diff.Line{{Number: 1, Text: "export AWS_ACCESS_KEY_ID=AKIAQ3ZL7TXWN5VKE2YD", Added: true},
		{Number: 2, Text: "call the-team-has-stored-this", Added: true}}},
}

// The calls are paid for by the team, with a model and without one, and once a cap is reached.
func TestAsk(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		accounts, err := account.Open(t.Context(), d, account.Config{})
		if err != nil {
			t.Fatal(err)
		}
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: "ada@example.com", Admin: true})
		if err != nil {
			t.Fatal(err)
		}
		box, err := seal.Open(filepath.Join(t.TempDir(), "key"))
		if err != nil {
			t.Fatal(err)
		}
		q := Question{TeamID: u.TeamID, UserID: u.ID, Title: "Review", Files: files}
		if _, err := Ask(t.Context(), model.New(d, box, accounts, model.Config{}), q); !IsNone(err) {
			t.Errorf("without a model: %v", err)
		}
		script := llm.Script{Replies: []llm.Reply{{System: "You review a change", Last: "db.Query", Usage: llm.Usage{Input: 1000, Output: 500},
			Text: "Here: [{\"path\": \"shop.go\", \"line\": 4, \"title\": \"SQL\\ninjection\", \"severity\": \"high\", \"reason\": \"id is text.\"}]"}}}
		server := &model.Server{Model: "m", Price: &llm.Price{Input: 1000, Output: 1000}, Script: &script}
		a, err := Ask(t.Context(), model.New(d, box, accounts, model.Config{Server: server}), q)
		want := rule.Finding{Rule: "model", FoundBy: rule.ByModel, Kind: rule.Code, Severity: rule.High, Path: "shop.go", Line: 4,
			Title: "SQL injection", Why: "id is text."}
		if err != nil || a.Model != "m" || a.Problem != "" || !slices.Equal(a.Findings, []rule.Finding{want}) {
			t.Fatalf("%+v %v", a, err)
		}
		spent := func() int64 {
			n, err := db.Value[int64](context.Background(), d, `SELECT coalesce(sum(spent), 0) FROM reservation WHERE team_id = ? AND NOT byok`, u.TeamID)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		before := spent()
		if before == 0 {
			t.Error("nothing was paid")
		}
		a, err = Ask(t.Context(), model.New(d, box, accounts, model.Config{Server: server, TeamCap: 1}), q)
		if err != nil || a.Problem != model.CodeBudget || len(a.Findings) != 0 || len(a.Left) != 2 || spent() != before {
			t.Errorf("over the cap: %+v %v", a, err)
		}
	})
}

// No secret is shown, and strangers' text is in no system prompt.
func TestWhatIsShown(t *testing.T) {
	calls, left := split(Question{Files: files, Secrets: []string{"the-team-has-stored-this"}}, maxBytes)
	if len(calls) != 1 || len(left) != 0 {
		t.Fatal(calls, left)
	}
	text := calls[0].text
	for _, part := range []string{"AKIAQ3ZL7TXWN5VKE2YD", "the-team-has-stored"} {
		if strings.Contains(text, part) {
			t.Errorf("%s is in %s", part, text)
		}
	}
	if !strings.Contains(text, `"lines":" 3 import x\n+4 db.Query(q + id)\n"`) {
		t.Error(text)
	}
	prompt := system(Question{Instructions: "Mind tenants."}, files)
	if !strings.Contains(prompt, "Mind tenants.") || !strings.Contains(prompt, "heed SQL") || strings.Contains(prompt, "db.Query") {
		t.Error(prompt)
	}
	big := make([]File, 12)
	for i := range big {
		big[i] = File{Path: strings.Repeat("x", i+1), Lines: []diff.Line{{Number: 1, Text: strings.Repeat("y", 300), Added: true}}}
	}
	big[3].Lines = slices.Repeat(big[3].Lines, 9)
	calls, left = split(Question{Files: big}, 800)
	if len(calls) != maxCalls || !slices.Contains(left, "xxxx") || len(left) < 3 {
		t.Errorf("%d calls, left %q", len(calls), left)
	}
	for _, c := range calls {
		if len(c.text) > 810 {
			t.Error(len(c.text))
		}
	}
}

func TestWhatIsRejected(t *testing.T) {
	for text, want := range map[string]int{
		`[{"path":"shop.go","line":3,"title":"t","severity":"high","reason":"r"}]`:     1, // not added
		`[{"path":"other.go","line":4,"title":"t","severity":"high","reason":"r"}]`:    1,
		`[{"path":"shop.go","line":4,"title":"t","severity":"terrible","reason":"r"}]`: 1,
		`[{"path":"shop.go","line":4,"title":" ","severity":"high","reason":"r"}, 7]`:  2,
		`[]`: 0,
	} {
		if found, rejected, ok := read(text, files); len(found) != 0 || rejected != want || !ok {
			t.Errorf("%s: %v %d %v", text, found, rejected, ok)
		}
	}
	for _, text := range []string{"", "I cannot.", "[oh", "{}", "] ["} {
		if _, _, ok := read(text, files); ok {
			t.Error(text)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`[{"path":"shop.go","line":4,"title":"t","severity":"high","reason":"r"}]`)
	f.Add(`text [[]] {"line":`)
	f.Fuzz(func(t *testing.T, text string) {
		found, _, _ := read(text, files)
		for _, x := range found {
			if !adds(files, x.Path, x.Line) || len(x.Title) > maxTitle+8 || len(x.Why) > maxReason+8 || strings.ContainsAny(x.Title, "\n\r") {
				t.Errorf("%+v", x)
			}
		}
	})
}
