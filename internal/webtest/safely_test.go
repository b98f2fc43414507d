package webtest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// A check with a fault, at a place, at a whole request or at an answer, does not end the run, and the coverage says
// where it broke.
func TestAFaultOfACheck(t *testing.T) {
	var none []string
	broken := []kit.Check{
		{ID: "place", Class: "place", Level: client.Safe,
			Place: func(context.Context, *kit.World, *kit.Target, message.Place) error { _ = none[0]; return nil }},
		{ID: "request", Class: "request", Level: client.Safe,
			Request: func(context.Context, *kit.World, *kit.Target) error { panic("odd") }},
		{ID: "answer", Class: "answer", Passive: func(*kit.World, *kit.Target) { panic("odd") }},
		{ID: "after", Class: "after", Level: client.Safe,
			After: func(context.Context, *kit.World) error { panic("odd") }},
	}
	cfg := serve(t, webtest.Config{Checks: append(broken, echo)}, shop)
	report, err := webtest.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Findings) == 0 {
		t.Error("nothing is found any more")
	}
	said := map[string]bool{}
	for _, row := range report.Coverage.Rows() {
		for id, why := range row.Skipped {
			if strings.HasPrefix(why, "failed: the check broke at safely_test.go:") {
				said[id] = true
			}
		}
	}
	for _, c := range broken {
		if !said[c.ID] {
			t.Errorf("the coverage does not say that %s broke", c.ID)
		}
	}
}
