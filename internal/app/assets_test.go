package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// createAssets stores runs of an enumeration with all kinds of assets.
func (h *testServer) createAssets(p person) {
	h.t.Helper()
	for run := range 3 {
		var seen []discover.Asset
		for i := run * 5; i < 60; i++ {
			a := discover.Asset{Host: fmt.Sprintf("h%d.example.com", i%23), Port: []int{0, 22, 80, 443}[i%4],
				IP: []string{fmt.Sprintf("192.0.2.%d", i%31)}}
			if i%4 > 1 {
				a.URL, a.StatusCode, a.Title = "http://"+a.Host+"/", []int{200, 404, 500}[i%3], names[i%len(names)]
				a.Technologies = [][]string{{"nginx:1.18.0"}, {"PHP", "Nginx:1.2" + strconv.Itoa(run)}, nil}[i%3]
				a.TLS = &discover.TLS{Serial: strconv.Itoa(i + run), Expired: i%5 == 0}
			}
			if i%7 == 0 {
				a.Misconfiguration = []discover.Misconfiguration{{Type: "dangling_dns", Detail: "to nobody"}}
			}
			seen = append(seen, a)
		}
		h.observe(p, "furnished", int64(run+1), seen...)
	}
}

// observe stores the assets of one run, and ends the run.
func (h *testServer) observe(p person, enumeration string, run int64, seen ...discover.Asset) {
	h.t.Helper()
	ctx, at := context.Background(), time.Now()
	err := h.db.Tx(ctx, func(tx *db.Tx) error {
		if err := h.assets.Register(ctx, tx,
			asset.Enumeration{ID: enumeration, TeamID: p.TeamID, Name: "Of " + enumeration,
				SourceType: "discovery"}); err != nil {
			return err
		}
		if _, err := h.assets.Observe(ctx, tx,
			asset.Seen{TeamID: p.TeamID, EnumerationID: enumeration, Run: run, At: at, Assets: seen}); err != nil {
			return err
		}
		_, err := h.assets.EndRun(ctx, tx,
			asset.End{TeamID: p.TeamID, EnumerationID: enumeration, Run: run, At: at, Covered: true})
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// asset creates an asset with a screenshot.
func (a *attacker) asset() string {
	a.t.Helper()
	host := ids.New() + ".example.com"
	a.observe(a.admin, ids.New(), 1, discover.Asset{Host: host, Screenshot: []byte("\x89PNG\r\n\x1a\n")})
	p, err := a.assets.List(account.WithCaller(context.Background(), a.admin.Caller),
		asset.Query{Filter: asset.Filter{Hosts: []string{host}}, Window: page.Window{Limit: 1}})
	if err != nil || p.Total != 1 {
		a.t.Fatalf("making an asset: %+v, %v", p, err)
	}
	return strconv.FormatInt(p.Assets[0].ID, 10)
}

func (a *attacker) group() string {
	a.t.Helper()
	return a.postedID("/v1/asset/enumerate/group", `{"filters": {"port": "443"}}`)
}

func (a *attacker) policy() string {
	a.t.Helper()
	return a.postedID("/v1/asset/policy", `{"policy_type": "delete", "policies": {"port": "1"}}`)
}

// postedID posts a body that creates something, and returns its id.
func (a *attacker) postedID(path, body string) string {
	a.t.Helper()
	got := a.do(a.request(http.MethodPost, path, &a.admin, body))
	var made struct{ ID string }
	if err := json.Unmarshal(got.body, &made); err != nil || made.ID == "" {
		a.t.Fatalf("%s: %d %s", path, got.status, got.body)
	}
	return made.ID
}
