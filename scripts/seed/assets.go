package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// seedAssets stores the assets of one run of one enumeration, in batches as workers do. The
// enumeration's id is "seed".
func seedAssets(ctx context.Context, d *db.DB, teamID string, total int) error {
	assets := asset.New(d, nil, nil)
	if err := assets.Backfill(ctx); err != nil { // while there are none, as for findings
		return err
	}
	at := time.Now().UTC()
	const together = 500
	err := d.Tx(ctx, func(tx *db.Tx) error {
		return assets.Register(ctx, tx, asset.Enumeration{ID: "seed", TeamID: teamID, Name: "Seeded",
			SourceType: "discovery"})
	})
	for first := 0; first < total && err == nil; first += together {
		var seen []discover.Asset
		for i := first; i < min(first+together, total); i++ {
			seen = append(seen, seenAsset(i))
		}
		at = at.Add(time.Millisecond)
		err = d.Tx(ctx, func(tx *db.Tx) error {
			_, err := assets.Observe(ctx, tx, asset.Seen{TeamID: teamID, EnumerationID: "seed", Run: 1, At: at, Assets: seen})
			return err
		})
	}
	if err != nil {
		return err
	}
	return d.Tx(ctx, func(tx *db.Tx) error {
		_, err := assets.EndRun(ctx, tx, asset.End{TeamID: teamID, EnumerationID: "seed", Run: 1, At: at, Covered: true})
		return err
	})
}

// seenAsset is the i-th of many assets: four ports a host, a thousand domains, some hundred
// technologies, half of the titles unique.
func seenAsset(i int) discover.Asset {
	n := i / 4
	a := discover.Asset{
		Host: fmt.Sprintf("h%d.d%d.example%d.com", n, n%37, n%1000), Port: []int{80, 443, 8443, 22}[i%4],
		Domain: fmt.Sprintf("example%d.com", n%1000),
		IP:     []string{fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255)}, Service: "ssh",
		Sources: []discover.SourceRef{{Source: "crtsh"}},
	}
	if n%3 == 0 {
		a.CNAME = []string{fmt.Sprintf("edge%d.cdn.example.net", n%50)}
	}
	if i%4 == 3 {
		return a
	}
	a.Service, a.URL = "https", "https://"+net.JoinHostPort(a.Host, strconv.Itoa(a.Port))+"/"
	a.StatusCode, a.ContentLength = []int{200, 200, 200, 301, 403, 404, 500}[n%7], int64(n%50_000)
	a.Title = []string{"Welcome to nginx!", fmt.Sprintf("Page %d of the shop", n)}[i%2]
	a.Technologies = []string{"Nginx:1.2" + strconv.Itoa(n%10), "PHP:8." + strconv.Itoa(n%4), "Tool" + strconv.Itoa(n%100)}
	a.Webserver, a.Favicon = "nginx/1.2"+strconv.Itoa(n%10), strconv.Itoa(n%500*7919)
	a.TLS = &discover.TLS{Serial: strconv.Itoa(n), SubjectCN: a.Host, SubjectAN: []string{a.Host}, Expired: n%20 == 0}
	a.Headers = map[string]string{"Server": a.Webserver, "Content-Type": "text/html",
		"Date": "Mon, 02 Jan 2006 15:04:05 GMT"}
	return a
}
