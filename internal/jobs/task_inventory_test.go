package jobs

import (
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

func TestModelDiscoversAndAsksTheInventory(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		shopURL, _ := shop(t)
		u, err := url.Parse(shopURL)
		if err != nil {
			t.Fatal(err)
		}
		port, err := strconv.Atoi(u.Port())
		if err != nil {
			t.Fatal(err)
		}
		o := openWith(t, d, scripted(
			call(1, "list_assets", map[string]any{}),
			call(2, "discover_assets", map[string]any{"hosts": []string{"192.0.2.1"}}),
			call(3, "discover_assets", map[string]any{"hosts": []string{"127.0.0.1"}, "ports": []int{port, 1}}),
			call(4, "list_assets", map[string]any{"port": u.Port()}),
			call(5, "list_assets", map[string]any{"port": "many"}),
		))
		var told []string
		made, _ := o.do(t, "look at "+shopURL, func(_ task.Task, e *task.Event) {
			if e.Type == "tool-output-available" || e.Type == "tool-output-error" || e.Type == task.EventDenied {
				told = append(told, string(e.Data))
			}
		})
		all := strings.Join(told, "\n")
		for _, want := range []string{"0 assets, from 0 on", "is refused", "is finished", "1 assets, from 0 on",
			"port must be whole numbers"} {
			if !strings.Contains(all, want) {
				t.Errorf("nothing says %q:\n%s", want, all)
			}
		}
		if made.Status != task.Completed {
			t.Errorf("%s: %s", made.Status, made.Summary)
		}
		p, err := o.assets.List(o.ctx, asset.Query{Window: page.Window{Limit: 10}})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range p.Assets {
			if a.Host != "127.0.0.1" || a.Port != 0 && a.Port != port {
				t.Errorf("the inventory has %s:%d", a.Host, a.Port)
			}
		}
		if p.Total == 0 {
			t.Error("the inventory is empty")
		}
	})
}
