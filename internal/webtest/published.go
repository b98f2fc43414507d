package webtest

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
	"github.com/vedette-sec/vedette/internal/webtest/spec"
)

// Descriptions that the application itself publishes: those of its API at the addresses where frameworks put them, and
// where the map has found one; schemas of GraphQL, as its answer to an introspection. They are read like those that
// were given.
var (
	apiPaths = []string{"/openapi.json", "/swagger.json", "/api/openapi.json", "/api/swagger.json", "/v2/api-docs",
		"/v3/api-docs",
		"/swagger/v1/swagger.json", "/api-docs", "/api/v1/openapi.json", "/openapi.yaml", "/swagger.yaml"}
	graphPaths = []string{"/graphql", "/api/graphql", "/v1/graphql", "/query"}
)

const maxPublished = 8 // descriptions that are read of an application

// publishedAPI asks for descriptions of the API before anybody logs in, as the login may be one of its requests.
func (r *run) publishedAPI(ctx context.Context) {
	if r.Only || len(r.Documents) > 0 {
		return
	}
	if r.journal.done[publishedKey] {
		for _, address := range slices.Sorted(maps.Keys(r.journal.texts)) {
			if at, err := url.Parse(address); err == nil {
				r.takeAPI(at, r.journal.texts[address])
			}
		}
		return
	}
	seen := map[string]bool{}
	for _, start := range r.Starts {
		for _, path := range apiPaths {
			at := &url.URL{Scheme: start.Scheme, Host: start.Host, Path: path}
			if seen[at.String()] || len(r.Documents) >= maxPublished {
				continue
			}
			seen[at.String()] = true
			answer, err := r.client.Send(ctx, message.From(http.MethodGet, at), client.Options{})
			if endsRun(err) {
				return
			}
			if err == nil && answer.Status == http.StatusOK && r.takeAPI(at, answer.Body) {
				_ = r.journal.note(record{At: at.String(), Text: answer.Body}) // its error comes with that of the map
				break
			}
		}
	}
	_ = r.journal.note(record{Done: publishedKey, Sent: r.client.Sent()}) // the same
}

// takeAPI reads a description of an API, if a text is one.
func (r *run) takeAPI(at *url.URL, text []byte) bool {
	if kind := spec.Recognise(text); kind != spec.OpenAPI && kind != spec.Swagger {
		return false
	}
	return r.takeDocument(at, text)
}

func (r *run) takeDocument(at *url.URL, text []byte) bool {
	doc, err := spec.Read("", at.Redacted(), text, spec.Options{Base: at, Hosts: []string{at.Host}})
	if err != nil || len(doc.Operations) == 0 {
		return false
	}
	r.Documents = append(r.Documents, doc)
	r.note("The application describes itself at " + at.Redacted() + ".")
	return true
}

// publishedLater adds what descriptions say that the map has led to, and schemas of GraphQL.
func (r *run) publishedLater(ctx context.Context, m *sitemap.Map) error {
	if r.Only {
		return nil
	}
	given, seeds := r.Documents, len(r.Seeds)
	r.Documents = nil
	for _, e := range m.Entries {
		if len(given) == 0 && e.Response != nil && e.Response.Status == http.StatusOK && len(r.Documents) < maxPublished {
			r.takeAPI(e.Request.URL, e.Response.Body)
		}
	}
	if r.Client.Level > client.Passive && !slices.ContainsFunc(given,
		func(d *spec.Document) bool { return d.Kind == spec.GraphQL }) {
		r.introspect(ctx, m)
	}
	if len(r.Documents) > 0 {
		r.described(ctx)
		more, err := sitemap.Crawl(ctx, sitemap.Config{Client: r.client, As: r.user(), Seeds: r.Seeds[seeds:],
			Depth: r.Depth, Only: true})
		m.AddOf(more, "")
		if err != nil && ctx.Err() != nil {
			return err
		}
	}
	r.Documents = append(given, r.Documents...)
	return nil
}

// introspect asks servers of GraphQL for their schemas: where the map has one, and at the usual addresses.
func (r *run) introspect(ctx context.Context, m *sitemap.Map) {
	body, err := json.Marshal(map[string]string{"query": spec.Introspection})
	if err != nil {
		return
	}
	var all []*url.URL
	for _, e := range m.Entries {
		if strings.Contains(strings.ToLower(e.Request.URL.Path), "graphql") {
			all = append(all, &url.URL{Scheme: e.Request.URL.Scheme, Host: e.Request.URL.Host, Path: e.Request.URL.Path})
		}
	}
	for _, start := range r.Starts {
		for _, path := range graphPaths {
			all = append(all, &url.URL{Scheme: start.Scheme, Host: start.Host, Path: path})
		}
	}
	seen := map[string]bool{}
	for _, at := range all {
		if seen[at.String()] || len(r.Documents) >= maxPublished {
			continue
		}
		seen[at.String()] = true
		ask := message.From(http.MethodPost, at)
		ask.Header.Set("Content-Type", "application/json")
		ask.Body = body
		answer, err := r.client.Send(ctx, ask, client.Options{As: r.user()})
		if endsRun(err) {
			return
		}
		if err == nil && answer.Status == http.StatusOK && spec.Recognise(answer.Body) == spec.GraphQL {
			r.takeDocument(at, answer.Body)
		}
	}
}
