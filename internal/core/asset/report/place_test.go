package report

import (
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// TestAssetsAtPlaces: each place has the asset last seen there, or else the host without a port.
func TestAssetsAtPlaces(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.enroll(t, "e", "f")
		r.observe(t, "f", 1, web("a.example.com", 443, "new"), discover.Asset{Host: "b.example.com"})
		r.clock = r.clock.Add(-time.Hour)
		r.observe(t, "e", 1, web("a.example.com", 443, "old"), web("a.example.com", 8443, "other"))
		var many []Place
		for port := range 2 * batch { // more than one statement
			many = append(many, Place{"c.example.com", port})
		}
		at := append(many, Place{"A.example.com", 443}, Place{"b.example.com", 80}, Place{"a.example.com", 80})
		known, err := r.At(r.alice, at)
		if err != nil || len(known) != 2 || known[Place{"A.example.com", 443}].Title != "new" ||
			known[Place{"b.example.com", 80}].Host != "b.example.com" {
			t.Errorf("%+v, %v", known, err)
		}
		if known, err := r.At(r.stranger, at); err != nil || len(known) != 0 {
			t.Errorf("a stranger: %+v, %v", known, err)
		}
		if known, err := r.At(r.alice, nil); err != nil || len(known) != 0 {
			t.Errorf("no places: %+v, %v", known, err)
		}
	})
}
