package exposure

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// errorsProvoked looks for internals in the answer to odd characters, which all checks share: it sends nothing itself.
func errorsProvoked() kit.Check {
	c := kit.Check{ID: "verbose-error-provoked", Class: "verbose-error", Level: client.Safe}.Describe()
	c.Place = func(ctx context.Context, w *kit.World, t *kit.Target, p message.Place) error {
		reaction, err := w.React(ctx, t, p)
		if err != nil {
			return err
		}
		shownErrors(w, &c, t, reaction.Odd, kit.Finding{Place: p, Payload: reaction.OddText})
		return nil
	}
	return c
}

// origins is the check for answers that every site may read. One request for a page of each kind that names no origin,
// five for data, where an application may allow some forms of an origin and say nothing to others.
func origins() kit.Check {
	c := kit.Check{ID: "cors", Class: "cors", Level: client.Safe}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		if t.Request.Method != http.MethodGet || kit.Static(t.Response) ||
			!w.Once("cors "+t.Request.URL.Host+t.Kind+t.Request.URL.Path) {
			return nil
		}
		host := t.Request.URL.Hostname()
		forms := []func() string{
			func() string { return "https://" + kit.Word() + ".example.org" },
			func() string { return "null" },
			func() string { return t.Request.URL.Scheme + "://" + host + "." + kit.Word() + ".example.org" },
			func() string { return "https://" + kit.Word() + host },
		}
		if withPort := t.Request.URL.Host; withPort != host {
			forms = append(forms, func() string { return "https://" + kit.Word() + withPort })
		}
		for _, form := range forms {
			origin := form()
			answer, err := w.Send(ctx, t, t.Request.With("Origin", origin))
			if err != nil {
				return err
			}
			allowed := answer.Header.Get("Access-Control-Allow-Origin")
			if allowed == "" && origin != "null" && !isData(answer) && !strings.Contains(answer.Header.Get("Vary"), "Origin") {
				return nil
			}
			if allowed != origin || answer.Header.Get("Access-Control-Allow-Credentials") != "true" {
				continue
			}
			return allows(ctx, &c, w, t, form, answer, origin)
		}
		return nil
	}
	return c
}

// isData reports whether an answer is what scripts read.
func isData(r *message.Response) bool {
	return strings.Contains(r.Type(), "json") || strings.Contains(r.Type(), "xml")
}

// allows judges an answer that allows an origin: a second one must be, too, and what may be read must be private.
func allows(ctx context.Context, c *kit.Check, w *kit.World, t *kit.Target, form func() string, first *message.Response,
	origin string,
) error {
	second := form()
	again, err := w.Send(ctx, t, t.Request.With("Origin", second))
	if err != nil || again.Header.Get("Access-Control-Allow-Origin") != second {
		return err
	}
	f := kit.Finding{Request: first.Request, Payload: origin, Severity: kit.Low,
		Detail: "nothing private was seen to be read",
		Evidence: []kit.Evidence{{Request: first.Request, Response: first, Match: "Access-Control-Allow-Origin: " + origin,
			Note: "any origin may read the answer, with the visitor's cookies"}}}
	if kit.Known(t.User) {
		r := t.Request.With("Origin", origin)
		nobody, err := w.Client.Send(ctx, r, client.Options{})
		if err != nil {
			return err
		}
		if !diff.Same(diff.New(nobody), diff.New(first), nil) {
			f.Severity, f.Detail = kit.Medium, "what "+t.User.Name+" sees may be read"
		} else {
			f.Severity, f.Detail = kit.Info, "what may be read is the same for everybody"
		}
	}
	user, users := kit.Names(t.User)
	f.Proof = &proof.Program{About: "The answer allows any origin, with credentials.", Users: users, Steps: []proof.Step{
		{ID: "origin", As: user, Send: first.Request, Expect: []proof.Expect{
			{What: proof.Header, Name: "Access-Control-Allow-Origin", Value: origin},
			{What: proof.Header, Name: "Access-Control-Allow-Credentials", Value: "true"}}}}}
	w.Found(c, f)
	return nil
}

// introspection is the check for schemas of GraphQL that everybody may read, or every user. Three requests a host, and
// as many more as a user where nobody without a login is answered.
func introspection() kit.Check {
	c := kit.Check{ID: "graphql-introspection", Class: "graphql-introspection", Level: client.Safe}.Describe()
	c.Site = func(ctx context.Context, w *kit.World, root *url.URL) error {
		paths := []string{}
		for _, r := range w.Pages() {
			if strings.Contains(strings.ToLower(r.URL.Path), "graphql") && r.URL.Host == root.Host {
				paths = append(paths, r.URL.Path)
				break
			}
		}
		readers := []*client.User{nil}
		if len(w.Users) > 0 {
			readers = append(readers, w.Users[0])
		}
		for _, as := range readers {
			for _, to := range append(paths, "/graphql", "/api/graphql") {
				r := message.From(http.MethodPost, root)
				r.URL.Path, r.URL.RawPath, r.URL.RawQuery = to, "", ""
				r.Header.Set("Content-Type", "application/json")
				if done, err := schemaAt(ctx, w, &c, r, as); err != nil || done {
					return err
				}
			}
		}
		return nil
	}
	return c
}

// schemaAt asks for the schema as a user, or as nobody for nil, and reports whether it was answered.
func schemaAt(ctx context.Context, w *kit.World, c *kit.Check, r *message.Request, as *client.User) (bool, error) {
	r.Body = []byte(`{"query":"{__schema{queryType{name} types{name}}}"}`)
	answer, err := w.Client.Send(ctx, r, client.Options{As: as})
	if answer, err = kit.Broken(ctx, r, answer, err); err != nil {
		return false, err
	}
	body := string(answer.Body)
	if answer.Status != http.StatusOK || !strings.Contains(body, `"queryType"`) || !strings.Contains(body, `"types"`) {
		return false, nil
	}
	control := r.Clone()
	control.Body = []byte(`{"query":"{` + kit.Word() + `}"}`)
	refused, err := w.Client.Send(ctx, control, client.Options{As: as})
	if err != nil || strings.Contains(string(refused.Body), `"queryType"`) {
		return true, err
	}
	user, users := kit.Names(as)
	detail := r.URL.Path
	if user != "" {
		detail += ", for who is logged in"
	}
	w.Found(c, kit.Finding{Request: r, Detail: detail, Evidence: []kit.Evidence{
		{Request: r, Response: answer, Match: kit.Around(answer.Body, `"queryType"`), Note: "the schema comes back"},
		{Request: control, Response: refused, Note: "a field that does not exist is refused"}},
		Proof: &proof.Program{About: "The schema comes back.", Users: users, Steps: []proof.Step{{ID: "schema", As: user,
			Send: r, Expect: []proof.Expect{{What: proof.Contains, Value: `"queryType"`}}}}}})
	return true, nil
}
