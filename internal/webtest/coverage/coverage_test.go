package coverage

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// What was not tested for a lack is a gap; what the settings leave out, or is like something that was tested, is none.
func TestGaps(t *testing.T) {
	r, err := message.New("GET", "http://shop.example/find?q=1")
	if err != nil {
		t.Fatal(err)
	}
	target, place, check := &kit.Target{Request: r}, message.Places(r)[0], &kit.Check{ID: "a", Class: "b"}
	c := New()
	c.Tested(target, place, check)
	c.Left(target, []message.Place{place}, Layout)
	c.Cut(target, place, &kit.Check{ID: "c"}, "it needs level active")
	c.NotMapped("pages like it were fetched", 3)
	if c.Gaps() != 0 {
		t.Errorf("%d gaps, want none", c.Gaps())
	}
	c.Cut(target, place, &kit.Check{ID: "d"}, "the budget of time is used up")
	c.NotMapped("the budget of time is used up", 2)
	if c.Gaps() != 3 {
		t.Errorf("%d gaps, want 3", c.Gaps())
	}
	requests, places, checks := c.Count()
	ofMap, ofChecks := c.Reasons()
	if requests != 1 || places != 1 || checks != 1 || len(ofMap) != 2 || ofMap[0].Count != 3 || len(ofChecks) != 3 {
		t.Error(requests, places, checks, ofMap, ofChecks)
	}
	c.Skip(target, "b", "it could not")
	c.Tested(target, message.Place{}, check)
	if _, _, again := c.Count(); again != checks {
		t.Error("a check that says that it could not test counts as made")
	}
}
