package runner

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/agent/builtin"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/tools/scope"
)

// A child that asks gets the scope's decision, its requests are counted, and each refusal is told once.
func TestChildIsAnsweredAsTheScopeSays(t *testing.T) {
	var denied []scope.Denial
	s, err := scope.New(scope.Boundary{
		Plan:     builtin.Plan("check http://127.0.0.1:8080/ but do not touch http://127.0.0.1:8080/admin"),
		Budget:   scope.Budget{Requests: 1},
		OnDenied: func(d scope.Denial) { denied = append(denied, d) },
	})
	if err != nil {
		t.Fatal(err)
	}
	r := New(Config{}, s)
	for _, c := range []struct {
		q       child.Question
		allowed bool
		denials int // so far
	}{
		{child.Question{Kind: child.AskDial, Text: "127.0.0.1:8080"}, true, 0},
		{child.Question{Kind: child.AskDial, Text: "127.0.0.1"}, false, 1},
		{child.Question{Kind: child.AskURL, Text: "http://127.0.0.1:8080/admin/x"}, false, 2},
		{child.Question{Kind: child.AskURL, Text: "http://127.0.0.2:8080/"}, false, 3},
		{child.Question{Kind: child.AskURL, Text: "http://127.0.0.1:8080/%zz"}, false, 3},
		{child.Question{Kind: child.AskURL, Text: "http://127.0.0.1:8080/"}, true, 3},
		{child.Question{Kind: child.AskURL, Text: "http://127.0.0.1:8080/"}, false, 3}, // the budget
		{child.Question{Kind: child.TellDenied, Text: "10.0.0.1:80", Why: "it is private"}, true, 4},
		{child.Question{Kind: child.AskName, Text: "www.elsewhere.com"}, false, 5},
		{child.Question{Kind: child.AskName, Text: "127.0.0.1"}, true, 5},
		{child.Question{Kind: "format", Text: "c:"}, false, 5},
	} {
		if why := r.answer(c.q); (why == "") != c.allowed || len(denied) != c.denials {
			t.Errorf("%+v: %q, denied %v", c.q, why, denied)
		}
	}
	if s.Total() != 1 || !s.IsSpent() || denied[3] != (scope.Denial{Address: "10.0.0.1:80", Why: "it is private"}) {
		t.Errorf("%d requests, %v", s.Total(), denied)
	}
}
