package scope

import (
	"net/url"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestBudgetOfRequests(t *testing.T) {
	var denied int
	s, err := New(Boundary{
		Doc: task.Scope{Hosts: []string{"192.0.2.1"}}, Budget: Budget{Requests: 3, Sent: 1},
		OnDenied: func(Denial) { denied++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	in, out := &url.URL{Scheme: "http", Host: "192.0.2.1"}, &url.URL{Scheme: "http", Host: "192.0.2.2"}
	if s.Allow(out) || denied != 1 || s.Left() != 2 {
		t.Errorf("a request out of scope: %d denials, %d left", denied, s.Left())
	}
	if first, second := s.Allow(in), s.Allow(in); !first || !second || s.IsSpent() {
		t.Error("the budget is used up too early")
	}
	if err := s.Take(); !errs.Is(err, errs.Forbidden) || !s.IsSpent() || s.Total() != 2 || s.Left() != 0 {
		t.Errorf("the fourth request: %v, %d sent", err, s.Total())
	}
}
