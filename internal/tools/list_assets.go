package tools

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/enumeration"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Inventory gives access to the assets of a task's team.
type Inventory struct {
	Assets       *asset.Assets
	Enumerations *enumeration.Enumerations
	Caller       account.Caller // owner of the task
}

func (i Inventory) as(ctx context.Context) context.Context { return account.WithCaller(ctx, i.Caller) }

type assetsArgs struct {
	asset.Filters

	Conditions  string `json:"conditions"`
	Enumeration string `json:"enumeration_id"`
	Offset      int    `json:"offset"`
}

const (
	maxAssets = 100 // of one call
	maxOffset = 1 << 31
)

func (k *Kit) listAssets() action[assetsArgs] {
	return action[assetsArgs]{
		name: "list_assets", passive: true, repeatable: true,
		schema: `{"type": "object", "properties": {"search": {"type": "string", "description": "a part of the host, the title, an address, a technology or a label"},
			"host": {"type": "string", "description": "hosts, separated by commas; a * stands for anything"},
			"domain": {"type": "array", "items": {"type": "string"},
				"description": "hosts at and below these"},
			"ip": {"type": "string", "description": "addresses and networks, separated by commas"},
			"port": {"type": "string", "description": "ports, separated by commas"},
			"status_code": {"type": "string", "description": "HTTP statuses, separated by commas"},
			"technologies": {"type": "string", "description": "separated by commas, with a version or without"},
			"labels": {"type": "string", "description": "separated by commas"}, "is_new": {"type": "boolean"},
			"conditions": {"type": "string", "description": "such as status_code >= 400 && !(host ~ \"test\")"},
			"enumeration_id": {"type": "string"}, "offset": {"type": "integer", "minimum": 0}}}`,
		call: func(ctx context.Context, a assetsArgs, _ func(string)) (loop.Result, error) {
			if a.Offset < 0 || a.Offset > maxOffset {
				return loop.Result{}, fmt.Errorf("offset must be between 0 and %d", maxOffset)
			}
			filters := a.Filters
			filters.CustomFilter = a.Conditions
			if a.Enumeration != "" {
				filters.EnumerationIDs = []string{a.Enumeration}
			}
			filter, err := filters.Parse(time.Now())
			if err != nil {
				return loop.Result{}, err
			}
			return k.assetLines(ctx, asset.Query{Filter: filter, Window: page.Window{Offset: a.Offset, Limit: maxAssets}})
		},
	}
}

func (k *Kit) assetLines(ctx context.Context, q asset.Query) (loop.Result, error) {
	p, err := k.Inventory.Assets.List(k.Inventory.as(ctx), q)
	if err != nil {
		return loop.Result{}, err
	}
	lines := []string{fmt.Sprintf("%d assets, from %d on:", p.Total, q.Offset)}
	r := loop.Result{}
	for _, a := range p.Assets {
		address := a.Host
		if a.Port > 0 {
			address = net.JoinHostPort(a.Host, strconv.Itoa(a.Port))
		}
		status := strings.TrimPrefix(strconv.Itoa(a.StatusCode), "0") // 0: none
		line := strings.Join([]string{
			address, strings.Join(a.IP, ","), a.Service, a.URL, status, a.Title, a.Webserver, strings.Join(a.Technologies, ","),
		}, " | ")
		if a.IsMissing {
			line += " | not seen any more"
		}
		lines = append(lines, line)
		r.Evidence = append(r.Evidence, "asset "+address)
	}
	r.Text = strings.Join(lines, "\n")
	return r, nil
}
