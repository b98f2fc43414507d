package webtest

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/recorded"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/spec"
)

// described makes the requests of the documents. Those that read are sent in their order, so that the answer to one has
// the values that the next needs.
func (r *run) described(ctx context.Context) {
	for _, doc := range r.Documents {
		values := &recorded.Values{}
		for _, o := range doc.Operations {
			request, err := o.Request(values)
			if err != nil {
				r.report.Coverage.NotMapped(err.Error(), 1)
				continue
			}
			request.Segments = segmentsOf(request, o)
			r.Seeds = append(r.Seeds, request)
			r.abouts[request.Method+" "+request.URL.String()] = o.About
			if request.Method != http.MethodGet && (doc.Kind != spec.GraphQL || !strings.HasPrefix(o.Name, "query ")) {
				continue
			}
			answer, err := r.client.Send(ctx, request, client.Options{As: r.user()})
			if err == nil && answer.Status/100 == 2 {
				values.Learn(o.Learns, answer.Body)
			}
		}
		for _, why := range doc.LeftOut {
			r.report.Coverage.NotMapped(why, 1)
		}
		if n := len(doc.LeftOut); n > 0 {
			r.note(fmt.Sprintf("Of the description %d requests were left out, such as %s", n, doc.LeftOut[0]))
		}
	}
}

// about is World.About.
func (r *run) about(q *message.Request) string { return r.abouts[q.Method+" "+q.URL.String()] }

// segmentsOf are the segments of a request's path that its description writes as {name}.
func segmentsOf(r *message.Request, o *spec.Operation) (out []int) {
	described := strings.Split(strings.Trim(o.Learns, "/"), "/")
	have := strings.Split(strings.Trim(r.URL.EscapedPath(), "/"), "/")
	before := len(have) - len(described) // of the server's own path
	for i, segment := range described {
		if strings.Contains(segment, "{") && i+before >= 0 {
			out = append(out, i+before+1)
		}
	}
	return out
}

// loginSeeds are the requests of the documents, for a login that is among them.
func (r *run) loginSeeds() (out []*message.Request) {
	for _, doc := range r.Documents {
		all, _ := doc.Requests()
		out = append(out, all...)
	}
	return append(out, r.Seeds...)
}
