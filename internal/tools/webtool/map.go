package webtool

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

type mapArgs struct {
	URL      string `json:"url"`
	As       string `json:"as"`
	Requests int    `json:"requests"`
}

const (
	maxLines  = 300
	mapSchema = `{"type": "object", "required": ["url"], "properties": {"url": {"type": "string"},
		"as": {"type": "string", "description": "a name that web_login gave; nobody when absent"},
		"requests": {"type": "integer", "minimum": 1, "maximum": 5000, "description": "at most; 400 when absent"}}}`
)

// mapSite maps an application and lists its requests with their places.
func (t *Tools) mapSite(ctx context.Context, a mapArgs, progress func(string)) (r loop.Result, err error) {
	at, err := address(a.URL)
	if err != nil {
		return r, err
	}
	who, err := t.user(a.As)
	if err != nil {
		return r, err
	}
	progress(at.String())
	sender := t.client(ctx, at, most(a.Requests))
	defer sender.Close()
	cfg := sitemap.Config{Client: sender, Starts: []*url.URL{at}, Browser: t.Step.Browser}
	if who != nil {
		cfg.As = who.User
	}
	m, err := sitemap.Crawl(ctx, cfg)
	r.Requests = int(sender.Sent())
	if cause := context.Cause(ctx); cause != nil {
		return r, cause
	}
	if m == nil || len(m.Entries) == 0 {
		return r, fmt.Errorf("nothing was found: %s", errs.Clip(fmt.Sprint(err), maxWhy))
	}
	lines := make([]string, 0, len(m.Entries))
	for _, e := range m.Entries {
		lines = append(lines, line(e))
		r.Evidence = append(r.Evidence, "request "+e.Request.Method+" "+e.Request.URL.Path)
	}
	if n := len(lines); n > maxLines {
		lines = append(lines[:maxLines], fmt.Sprintf("%d more are not listed: map a part of the application.", n-maxLines))
	}
	for _, why := range slices.Sorted(maps.Keys(m.Skipped)) {
		lines = append(lines, fmt.Sprintf("Not asked, because %s: %d.", strings.TrimSuffix(why, "."), m.Skipped[why]))
	}
	r.Text = strings.Join(lines, "\n")
	return r, nil
}

// line is an entry of a map in one line: status, request, where its places are, what is special.
func line(e *sitemap.Entry) string {
	status := "not sent"
	if e.Response != nil {
		status = strconv.Itoa(e.Response.Status)
	}
	out := fmt.Sprintf("%s %s %s", status, e.Request.Method, errs.Clip(e.Request.URL.Redacted(), maxWhy))
	if len(e.Request.Body) > 0 {
		kind, _, _ := strings.Cut(e.Request.Header.Get("Content-Type"), ";")
		out += fmt.Sprintf(" [%s] %s", cmp.Or(kind, "body"), errs.Clip(string(e.Request.Body), maxWhy))
	}
	var places []string
	for _, p := range message.Places(e.Request) {
		if p.Component == message.Query || p.Component == message.Body || p.Component == message.Path &&
			message.SegmentKind(p.Value) != p.Value {
			places = append(places, p.String())
		}
	}
	if len(places) > 0 {
		out += " · " + strings.Join(places[:min(len(places), 20)], ", ")
	}
	switch {
	case e.Login:
		out += " · a login"
	case e.Writes:
		out += " · may change data"
	}
	if e.Why != "" {
		out += " · " + e.Why
	}
	if e.Alike > 0 {
		out += fmt.Sprintf(" · %d more like it", e.Alike)
	}
	return out
}
