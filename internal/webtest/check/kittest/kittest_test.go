package kittest_test

import (
	"net/http"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
)

func TestLab(t *testing.T) {
	lab := kittest.New(t, http.NotFoundHandler())
	c := kit.Check{ID: "c", Class: "xss", Passive: func(w *kit.World, target *kit.Target) {
		w.Found(&kit.Check{ID: "c", Class: "xss"}, kit.Finding{Request: target.Request})
	}}
	found := lab.Run(t, c, lab.Target(t, http.MethodGet, "/", ""))
	if len(found) != 1 || found[0].CWE != 79 || lab.Sent.Load() != 1 || len(lab.Findings()) != 0 {
		t.Errorf("found %s after %d requests", kittest.Titles(found), lab.Sent.Load())
	}
}
