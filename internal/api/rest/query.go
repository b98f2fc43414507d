package rest

import (
	"net/url"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// gather lets a query parameter come several times, as many clients send lists: each time
// adds to it as if it stood behind a comma. So what cannot be a list is refused, not
// silently left out.
func (a *API) gather(ctx huma.Context, next func(huma.Context)) {
	address := ctx.URL()
	if strings.Contains(address.RawQuery, "&") {
		query := address.Query()
		for _, values := range query {
			if len(values) > 1 {
				ctx = gathered{ctx, query}
				break
			}
		}
	}
	next(ctx)
}

// gathered is a request of which a query parameter came several times.
type gathered struct {
	inner
	query url.Values
}

type inner = huma.Context // as a field it may not have the name of its method

func (g gathered) Query(name string) string { return strings.Join(g.query[name], ",") }

// Unwrap lets the library find its own context.
func (g gathered) Unwrap() huma.Context { return g.inner }
