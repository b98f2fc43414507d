package catalog_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// A template whose compilation ends a child of the engine is refused with the reason by whatever would store it. It is
// compiled nowhere else, and the next template is stored.
func TestTemplateThatEndsTheEngineIsRefused(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := open(t, d)
		laborious := strings.Replace(written("a", "A", "low", "x"), `words: ["needle"]`,
			`dsl: ["`+strings.Repeat("(", 500_000)+"1"+strings.Repeat(")", 500_000)+`"]`, 1)
		laborious = strings.Replace(laborious, "type: word", "type: dsl", 1)
		for why, config := range map[string]child.Config{
			"over time":   {Memory: 1 << 30, Compute: time.Millisecond},
			"over memory": {Memory: 48 << 20, Compute: time.Minute},
		} {
			config.Args = []string{engineCommand, strconv.FormatInt(config.Memory, 10)}
			engines := child.New(config)
			t.Cleanup(engines.Close)
			s.Catalog = catalog.New(d, catalog.Config{Engines: engines})
			refused := func(what string, err error) {
				t.Helper()
				e := errs.From(err)
				if !errs.Is(err, errs.Invalid) || e.Param != "template" || e.Code != "template_ends_engine" ||
					!strings.Contains(e.Message, ".yaml: compiling it ends the engine: "+why) {
					t.Errorf("%s: %v, want %s", what, err, why)
				}
			}
			n := catalog.NewTemplate{Text: laborious}
			refused("create", second(s.Create(s.ada, n)))
			made, err := s.Create(s.ada, catalog.NewTemplate{Text: written("b", "B", "low", "x")})
			if err != nil {
				t.Fatal(err)
			}
			refused("update", second(s.Update(s.ada, made.ID, n)))
			who := caller(t, s.ada)
			refused("generated", second(s.StoreGenerated(context.Background(), who.TeamID, who.UserID, n)))
			kept, total, err := s.Own(s.ada, page.Window{Limit: 10}, true)
			if err != nil || total != 1 || string(kept[0].Raw) != written("b", "B", "low", "x") {
				t.Errorf("%d are kept, %v", total, err)
			}
			if _, err := s.Create(s.ada, catalog.NewTemplate{Text: "a: [b"}); errs.From(err).Code == "template_ends_engine" {
				t.Errorf("a template that is merely wrong: %v", err)
			}
			if err := s.Delete(s.ada, made.ID); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }
